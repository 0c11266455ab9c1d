# shellcheck shell=bash
# Functions for the steps: source .ci/lib.sh

# tests NAME ARGUMENT ...: runs Vitest with the arguments (for example --project e2e) and leaves a report that is counted.
tests() {
  local name=$1
  shift
  vitest run --reporter=default --reporter=json --outputFile.json="$CI_REPORTS/$name.vitest.json" "$@"
}

# need COMMAND HINT: fails with one line that says what to install, unless the command succeeds.
need() {
  bash -c "$1" >/dev/null 2>&1 || {
    echo "$2"
    exit 1
  }
}
