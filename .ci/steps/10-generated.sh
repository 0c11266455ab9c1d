# What is generated from the contract is what the contract says now.
npm run generate
if ! git diff --exit-code -- gen docs/reference || [ -n "$(git status --porcelain -- gen docs/reference)" ]; then
  git status --short -- gen docs/reference
  echo "gen/ or docs/reference/ is stale: run npm run generate and commit the result"
  exit 1
fi
