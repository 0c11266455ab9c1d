"""Starts an execution of the provider `scripted`, follows it to its end, and prints what it saw as one line of JSON.

usage: client.py HOST:PORT
"""

import json
import sys

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from harnessruntime.v1 import (
    content_pb2,
    event_stream_pb2,
    execution_commands_pb2,
    execution_service_pb2,
    execution_service_pb2_grpc,
    runtime_service_pb2,
    runtime_service_pb2_grpc,
)

TIMEOUT_SECONDS = 30


def reason_of(error: grpc.RpcError) -> str:
    """Returns the reason in an error's details, or "" where it has none."""
    if not isinstance(error, grpc.Call):
        return ""
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            for detail in Status.FromString(value).details:
                info = ErrorInfo()
                if detail.Unpack(info):
                    return info.reason
    return ""


def run(channel: grpc.Channel) -> dict[str, str | int]:
    runtime = runtime_service_pb2_grpc.RuntimeServiceStub(channel)
    executions = execution_service_pb2_grpc.ExecutionServiceStub(channel)
    described = runtime.DescribeRuntime(runtime_service_pb2.DescribeRuntimeRequest(), timeout=TIMEOUT_SECONDS)
    started = executions.StartExecution(
        execution_commands_pb2.StartExecutionRequest(
            provider_id="scripted", input=content_pb2.Content(text="hello from Python")
        ),
        timeout=TIMEOUT_SECONDS,
    )
    events = 0
    final_output = ""
    request = event_stream_pb2.WatchEventsRequest(execution_id=started.execution.id)
    for frame in executions.WatchEvents(request, timeout=TIMEOUT_SECONDS):
        for event in frame.events:
            events += 1
            if event.sequence != events:
                raise SystemExit(f"event {event.sequence} came as number {events}")
            if event.WhichOneof("payload") == "run_completed":
                final_output = event.run_completed.final_output
    reason = ""
    try:
        executions.GetExecution(
            execution_service_pb2.GetExecutionRequest(execution_id="missing"), timeout=TIMEOUT_SECONDS
        )
    except grpc.RpcError as error:
        reason = reason_of(error)
    return {
        "protocolVersion": described.protocol_version,
        "events": events,
        "finalOutput": final_output,
        "reason": reason,
    }


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: client.py HOST:PORT")
    with grpc.insecure_channel(sys.argv[1]) as channel:
        print(json.dumps(run(channel)))


if __name__ == "__main__":
    main()
