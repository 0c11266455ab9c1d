# Format, lint, types, unused code and the contract; the tests follow in the next step.
npm run check -- --no-tests
