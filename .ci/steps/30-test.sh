# The tests that need Node only.
# limit: 2100
npm test -- --reporter=default --reporter=json --outputFile.json="$CI_REPORTS/30-test.vitest.json"
