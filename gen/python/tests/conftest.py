"""A server that plays streams as written, and fails calls as written."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from harnessruntime.v1.action_pb2 import ActionRequest
from harnessruntime.v1.action_service_pb2 import RespondActionRequest, RespondActionResponse
from harnessruntime.v1.event_pb2 import Event
from harnessruntime.v1.event_stream_pb2 import WatchEventsRequest, WatchEventsResponse
from harnessruntime.v1.execution_commands_pb2 import (
    CancelExecutionRequest,
    CancelExecutionResponse,
    SendInputRequest,
    SendInputResponse,
    StartExecutionRequest,
    StartExecutionResponse,
)
from harnessruntime.v1.execution_pb2 import (
    EXECUTION_STATE_CANCELLING,
    EXECUTION_STATE_RUNNING,
    EXECUTION_STATE_SUCCEEDED,
    Execution,
)
from harnessruntime.v1.execution_service_pb2 import GetExecutionRequest, GetExecutionResponse

SILENCE = "silence"


@dataclass
class Failure:
    """What a call or a stream ends with."""

    code: grpc.StatusCode
    details: tuple[Message, ...] = ()

    def abort(self, context: grpc.ServicerContext) -> None:
        if self.details:
            packed = [any_pb2.Any() for _ in self.details]
            for any_, detail in zip(packed, self.details):
                any_.Pack(detail)
            status = Status(code=self.code.value[0], message="failed", details=packed)
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(self.code, "failed")


def refused(code: grpc.StatusCode, reason: str, *details: Message, **metadata: str) -> Failure:
    return Failure(code, (ErrorInfo(reason=reason, domain="harnessruntime", metadata=metadata), *details))


def frame(
    sequences: range | list[int], head: int, *, following: int | None = None, over: bool = False
) -> WatchEventsResponse:
    """The events with these sequences out of a log that has `head` events."""
    events = [Event(execution_id="exe_1", sequence=sequence) for sequence in sequences]
    return WatchEventsResponse(
        events=events,
        next_after_sequence=following if following is not None else (sequences[-1] if sequences else 0),
        head_sequence=head,
        state=EXECUTION_STATE_SUCCEEDED if over else EXECUTION_STATE_RUNNING,
    )


Act = WatchEventsResponse | Failure | str


@dataclass
class Server:
    """Each list of acts is one stream."""

    target: str = ""
    streams: list[list[Act]] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    faults: list[Failure] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    headers: dict[str, str | bytes] = field(default_factory=dict)

    def watch(self, request: WatchEventsRequest, context: grpc.ServicerContext) -> Iterator[WatchEventsResponse]:
        self.opened.append(request.after_sequence)
        if len(self.opened) > len(self.streams):
            context.abort(grpc.StatusCode.UNAVAILABLE, "down")
        for act in self.streams[len(self.opened) - 1]:
            if isinstance(act, WatchEventsResponse):
                yield act
            elif isinstance(act, Failure):
                act.abort(context)
            else:
                context.send_initial_metadata(())
                ended = threading.Event()
                context.add_callback(ended.set)
                ended.wait(30)

    def _called(self, context: grpc.ServicerContext) -> None:
        self.headers = dict(context.invocation_metadata())
        if self.faults:
            self.faults.pop(0).abort(context)

    def start(self, request: StartExecutionRequest, context: grpc.ServicerContext) -> StartExecutionResponse:
        self.keys.append(request.idempotency_key)
        self._called(context)
        return StartExecutionResponse(execution=Execution(id="exe_1"))

    def get(self, request: GetExecutionRequest, context: grpc.ServicerContext) -> GetExecutionResponse:
        self._called(context)
        return GetExecutionResponse(execution=Execution(id=request.execution_id))

    def send(self, request: SendInputRequest, context: grpc.ServicerContext) -> SendInputResponse:
        self.keys.append(request.idempotency_key)
        self._called(context)
        return SendInputResponse(input_id="inp_1")

    def cancel(self, request: CancelExecutionRequest, context: grpc.ServicerContext) -> CancelExecutionResponse:
        self.keys.append(request.reason)
        self._called(context)
        return CancelExecutionResponse(execution=Execution(id=request.execution_id, state=EXECUTION_STATE_CANCELLING))

    def respond(self, request: RespondActionRequest, context: grpc.ServicerContext) -> RespondActionResponse:
        self._called(context)
        action = ActionRequest(id=request.action_id, approved=request.response.approved)
        return RespondActionResponse(action=action)


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()
    grpc_server = grpc.server(ThreadPoolExecutor(max_workers=4))
    unary = grpc.unary_unary_rpc_method_handler
    execution: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "WatchEvents": grpc.unary_stream_rpc_method_handler(
            served.watch, WatchEventsRequest.FromString, WatchEventsResponse.SerializeToString
        ),
        "StartExecution": unary(
            served.start, StartExecutionRequest.FromString, StartExecutionResponse.SerializeToString
        ),
        "GetExecution": unary(served.get, GetExecutionRequest.FromString, GetExecutionResponse.SerializeToString),
        "CancelExecution": unary(
            served.cancel, CancelExecutionRequest.FromString, CancelExecutionResponse.SerializeToString
        ),
        "SendInput": unary(served.send, SendInputRequest.FromString, SendInputResponse.SerializeToString),
    }
    action: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "RespondAction": unary(
            served.respond, RespondActionRequest.FromString, RespondActionResponse.SerializeToString
        )
    }
    grpc_server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler("harnessruntime.v1.ExecutionService", execution),
            grpc.method_handlers_generic_handler("harnessruntime.v1.ActionService", action),
        )
    )
    served.target = f"127.0.0.1:{grpc_server.add_insecure_port('127.0.0.1:0')}"
    grpc_server.start()
    yield served
    grpc_server.stop(grace=None).wait()
