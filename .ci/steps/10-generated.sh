# apt: python3-venv
# What is generated from the contract is what the contract says now.
npm run generate -- --check
