#!/usr/bin/env bash
# Runs an execution with nothing but grpcurl, which learns the contract from the server: starts it, follows its events,
# loses the connection, goes on where it was, answers the approval that it asks for, and prints its output.
# usage: examples/grpcurl.sh [HOST:PORT]      HARNESS_TOKEN is sent where it is set
set -euo pipefail
command -v grpcurl >/dev/null || {
  echo "install grpcurl: go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest" >&2
  exit 127
}
server=${1:-127.0.0.1:4310}
auth=(${HARNESS_TOKEN:+-H "authorization: Bearer $HARNESS_TOKEN"})

# call METHOD JSON [OPTION ...]: calls a method of harnessruntime.v1 and prints its messages as JSON.
call() {
  local method=$1 json=$2
  shift 2
  grpcurl -plaintext ${auth[@]+"${auth[@]}"} "$@" -d "$json" "$server" "harnessruntime.v1.$method"
}

# field NAME: the first value of a field in the JSON on standard input.
field() {
  grep -o "\"$1\": \"\\?[^\",}]*" | head -n 1 | sed 's/[^:]*: //; s/"//'
}

grpcurl -plaintext ${auth[@]+"${auth[@]}"} "$server" list

steps='{"text":"Deploying"},{"approval":{"title":"Deploy to production?"}},{"text":" ... done."}'
started=$(call ExecutionService/StartExecution "{
  \"provider_id\": \"scripted\", \"input\": {\"text\": \"deploy\"}, \"config\": {\"steps\": [$steps]},
  \"idempotency_key\": \"grpcurl-$$-$RANDOM\"
}")
id=$(field id <<<"$started")
echo "started $id"

# The connection is cut after a second: the execution waits for its approval all the same.
frames=$(call ExecutionService/WatchEvents "{\"execution_id\": \"$id\"}" -max-time 1 2>/dev/null || true)
seen=$(grep -o '"nextAfterSequence": [0-9]*' <<<"$frames" | tail -n 1 | cut -d' ' -f2)
echo "seen up to event $seen, then the connection was cut"

pending=$(call ActionService/ListActions "{\"execution_id\": \"$id\"}")
action=$(field id <<<"$pending")
echo "asked: $(field title <<<"$pending")"
call ActionService/RespondAction "{
  \"execution_id\": \"$id\", \"action_id\": \"$action\", \"response\": {\"approved\": true}
}" >/dev/null
echo "approved $action"

# Another connection goes on behind the last event that was seen, and ends by itself after the terminal event.
call ExecutionService/WatchEvents "{\"execution_id\": \"$id\", \"after_sequence\": $seen}" -max-time 30 |
  grep -o '"sequence": [0-9]*' | cut -d' ' -f2 | while read -r sequence; do
  [ "$sequence" -gt "$seen" ] || { echo "event $sequence came twice" >&2; exit 1; }
done

ended=$(call ExecutionService/WaitExecution "{\"execution_id\": \"$id\", \"timeout\": \"30s\"}")
[ "$(field state <<<"$ended")" = EXECUTION_STATE_SUCCEEDED ] || { echo "$ended" >&2; exit 1; }
echo "output: $(field finalOutput <<<"$ended")"
