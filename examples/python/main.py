"""Starts an execution, follows it, answers its approval, and goes on after a lost connection."""

import os
import sys

from google.protobuf.json_format import ParseDict
from harnessruntime.v1.action_pb2 import ActionResponse
from harnessruntime.v1.content_pb2 import Content
from harnessruntime.v1.event_pb2 import Event
from harnessruntime.v1.execution_commands_pb2 import StartExecutionRequest
from harnessruntime.v1.execution_pb2 import EXECUTION_STATE_SUCCEEDED, ExecutionState
from harnessruntime_client import Client, HarnessError

CONFIG = {
    "steps": [
        {"text": {"text": "I found three old logs.", "pace_ms": 20}},
        {"approval": {"title": "Delete 3 files?", "payload": {"files": ["a.log", "b.log", "c.log"]}}},
        {"text": {"text": " They are gone.", "pace_ms": 20}},
    ]
}


def take(client: Client, event: Event) -> None:
    """Shows an event, and answers it when it is a question."""
    kind = event.WhichOneof("payload")
    if kind == "output_text_delta":
        print(event.output_text_delta.text, end="", flush=True)
        return
    print(f"\n[{event.sequence}] {kind}")
    if kind == "action_required":
        action = event.action_required.action
        print(f"{action.title} yes")
        try:
            client.respond(action.execution_id, action.id, ActionResponse(approved=True))
        except HarnessError as error:
            # Events may be shown again after a restart of this program: somebody, or this very program, was faster.
            if error.reason != "ACTION_ALREADY_RESOLVED":
                raise


def main() -> int:
    with Client.dial(os.environ.get("HARNESS_URL", "http://127.0.0.1:4310")) as client:
        request = StartExecutionRequest(provider_id="scripted", input=Content(text="Clean up."))
        ParseDict(CONFIG, request.config)
        # The start bears an idempotency key: sent again after a failure of the network, it starts no second execution.
        execution = client.start(request)

        # Lost connections are mended by follow_events. A program that was restarted goes on after the last sequence it kept.
        after_sequence = 0
        for event in client.follow_events(execution.id):
            take(client, event)
            after_sequence = event.sequence
            if after_sequence == 5:
                break
        print(f"\n(restarted: going on after {after_sequence})")
        for event in client.follow_events(execution.id, after_sequence):
            take(client, event)

        ended = client.wait(execution.id)
        print(f"{ExecutionState.Name(ended.state)}: {ended.final_output}")
        return 0 if ended.state == EXECUTION_STATE_SUCCEEDED else 1


if __name__ == "__main__":
    sys.exit(main())
