#!/usr/bin/env bash
# Runs an execution with nothing but curl: starts it, follows its events, loses the connection, goes on where it was,
# answers the approval that it asks for, and prints its output.
# usage: examples/curl.sh [URL]      HARNESS_TOKEN is sent where it is set
set -euo pipefail
url=${1:-${HARNESS_URL:-http://127.0.0.1:4310}}
executions=$url/harnessruntime.v1.ExecutionService
actions=$url/harnessruntime.v1.ActionService
auth=(${HARNESS_TOKEN:+-H "authorization: Bearer $HARNESS_TOKEN"})

# call URL JSON: one unary call; an error is the body, with its code and details.
call() {
  curl -sS --fail-with-body ${auth[@]+"${auth[@]}"} -H 'content-type: application/json' -d "$2" "$1"
}

# follow SECONDS AFTER: prints the JSON of the stream's frames, one a line, for at most so long.
# A streamed Connect message is five bytes (a flag and the length) and then the JSON.
follow() {
  local body="{\"execution_id\":\"$id\",\"after_sequence\":$2}"
  { printf '\x00\x00\x00\x00'"\\x$(printf %02x ${#body})" && printf %s "$body"; } |
    curl -sS -N --max-time "$1" ${auth[@]+"${auth[@]}"} -H 'content-type: application/connect+json' \
      --data-binary @- "$executions/WatchEvents" 2>/dev/null |
    LC_ALL=C tr -s '\000-\037\177-\377' '\n' | grep -ao '{.*' || true
}

# field NAME: the first value of a field in the JSON on standard input.
field() {
  grep -ao "\"$1\":\"\\?[^\",}]*" | head -n 1 | sed 's/[^:]*://; s/"//'
}

steps='{"text":"Deploying"},{"approval":{"title":"Deploy to production?"}},{"text":" ... done."}'
started=$(call "$executions/StartExecution" "{
  \"provider_id\": \"scripted\", \"input\": {\"text\": \"deploy\"}, \"config\": {\"steps\": [$steps]},
  \"idempotency_key\": \"curl-$$-$RANDOM\"
}")
id=$(field id <<<"$started")
echo "started $id"

# The connection is cut after a second: the execution waits for its approval all the same.
frames=$(follow 1 0)
seen=$(grep -ao '"nextAfterSequence":[0-9]*' <<<"$frames" | tail -n 1 | cut -d: -f2)
echo "seen up to event $seen, then the connection was cut"

pending=$(call "$actions/ListActions" "{\"execution_id\": \"$id\"}")
action=$(field id <<<"$pending")
echo "asked: $(field title <<<"$pending")"
call "$actions/RespondAction" "{
  \"execution_id\": \"$id\", \"action_id\": \"$action\", \"response\": {\"approved\": true}
}" >/dev/null
echo "approved $action"

# Another connection goes on behind the last event that was seen, and ends by itself after the terminal event.
follow 30 "$seen" | grep -ao '"sequence":[0-9]*' | cut -d: -f2 | while read -r sequence; do
  [ "$sequence" -gt "$seen" ] || { echo "event $sequence came twice" >&2; exit 1; }
done

ended=$(call "$executions/WaitExecution" "{\"execution_id\": \"$id\", \"timeout\": \"30s\"}")
[ "$(field state <<<"$ended")" = EXECUTION_STATE_SUCCEEDED ] || { echo "$ended" >&2; exit 1; }
echo "output: $(field finalOutput <<<"$ended")"
