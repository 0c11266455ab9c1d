# The tests that need Node only.
# limit: 1500
npm test -- --reporter=default --reporter=json --outputFile.json="$CI_REPORTS/30-test.vitest.json"
