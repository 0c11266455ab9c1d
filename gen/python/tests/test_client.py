"""Both clients, against a server that plays streams as written."""

import asyncio
import traceback
from collections.abc import Callable
from typing import Protocol

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from harnessruntime.v1.action_pb2 import ActionRequest, ActionResponse
from harnessruntime.v1.execution_commands_pb2 import SendInputRequest, SendInputResponse, StartExecutionRequest
from harnessruntime.v1.execution_pb2 import EXECUTION_STATE_CANCELLING, Execution
from harnessruntime_client import Client, ContiguityError, HarnessError, Waits, aio
from harnessruntime_client.address import target_of
from harnessruntime_client.errors import ended
from harnessruntime_client.log import Log, Patience

from conftest import SILENCE, Act, Failure, Server, frame, refused

DOWN = Failure(grpc.StatusCode.UNAVAILABLE)
WAITS = Waits(heartbeat=0.1, base_delay=0.01, max_delay=0.02, call_give_up=0.5, stream_give_up=0.5)


class Face(Protocol):
    """What both clients can do, as plain calls."""

    def follow(self, target: str, event_types: list[str] = ..., waits: Waits = ...) -> list[int]: ...
    def start(self, target: str, request: StartExecutionRequest) -> Execution: ...
    def get(self, target: str, execution_id: str) -> Execution: ...
    def wait(self, target: str, execution_id: str) -> Execution: ...
    def send(self, target: str, request: SendInputRequest) -> SendInputResponse: ...
    def cancel(self, target: str, reason: str) -> Execution: ...
    def respond(self, target: str, answer: ActionResponse) -> ActionRequest: ...


class Threads:
    def follow(self, target: str, event_types: list[str] = [], waits: Waits = WAITS) -> list[int]:
        with Client.dial(target, waits=waits) as client:
            return [event.sequence for event in client.follow_events("exe_1", event_types=event_types)]

    def start(self, target: str, request: StartExecutionRequest) -> Execution:
        with Client.dial(target, "secret", WAITS) as client:
            return client.start(request)

    def get(self, target: str, execution_id: str) -> Execution:
        with Client.dial(target, waits=WAITS) as client:
            return client.get(execution_id)

    def wait(self, target: str, execution_id: str) -> Execution:
        with Client.dial(target, waits=WAITS) as client:
            return client.wait(execution_id)

    def send(self, target: str, request: SendInputRequest) -> SendInputResponse:
        with Client.dial(target, waits=WAITS) as client:
            return client.send(request)

    def cancel(self, target: str, reason: str) -> Execution:
        with Client.dial(target, waits=WAITS) as client:
            return client.cancel("exe_1", reason)

    def respond(self, target: str, answer: ActionResponse) -> ActionRequest:
        with Client.dial(target, waits=WAITS) as client:
            return client.respond("exe_1", "act_1", answer)


class Asyncio:
    def follow(self, target: str, event_types: list[str] = [], waits: Waits = WAITS) -> list[int]:
        async def run() -> list[int]:
            async with aio.Client.dial(target, waits=waits) as client:
                return [event.sequence async for event in client.follow_events("exe_1", event_types=event_types)]

        return asyncio.run(run())

    def start(self, target: str, request: StartExecutionRequest) -> Execution:
        async def run() -> Execution:
            async with aio.Client.dial(target, "secret", WAITS) as client:
                return await client.start(request)

        return asyncio.run(run())

    def get(self, target: str, execution_id: str) -> Execution:
        async def run() -> Execution:
            async with aio.Client.dial(target, waits=WAITS) as client:
                return await client.get(execution_id)

        return asyncio.run(run())

    def wait(self, target: str, execution_id: str) -> Execution:
        async def run() -> Execution:
            async with aio.Client.dial(target, waits=WAITS) as client:
                return await client.wait(execution_id)

        return asyncio.run(run())

    def send(self, target: str, request: SendInputRequest) -> SendInputResponse:
        async def run() -> SendInputResponse:
            async with aio.Client.dial(target, waits=WAITS) as client:
                return await client.send(request)

        return asyncio.run(run())

    def cancel(self, target: str, reason: str) -> Execution:
        async def run() -> Execution:
            async with aio.Client.dial(target, waits=WAITS) as client:
                return await client.cancel("exe_1", reason)

        return asyncio.run(run())

    def respond(self, target: str, answer: ActionResponse) -> ActionRequest:
        async def run() -> ActionRequest:
            async with aio.Client.dial(target, waits=WAITS) as client:
                return await client.respond("exe_1", "act_1", answer)

        return asyncio.run(run())


@pytest.fixture(params=[Threads(), Asyncio()], ids=["threads", "asyncio"])
def face(request: pytest.FixtureRequest) -> Face:
    client: Face = request.param
    return client


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(Failure(grpc.StatusCode.UNAVAILABLE), id="a network that is down"),
        pytest.param(Failure(grpc.StatusCode.INTERNAL), id="a broken stream"),
        pytest.param(Failure(grpc.StatusCode.UNKNOWN), id="an unknown failure"),
        pytest.param(Failure(grpc.StatusCode.CANCELLED), id="a stream that a proxy reset"),
        pytest.param(Failure(grpc.StatusCode.DEADLINE_EXCEEDED), id="a deadline"),
        pytest.param(refused(grpc.StatusCode.UNAVAILABLE, "RESUME_AFTER", after_sequence="2"), id="a drain"),
        pytest.param(SILENCE, id="silence"),
    ],
)
def test_following_goes_on_after_a_cut(server: Server, face: Face, ending: Act) -> None:
    server.streams = [[frame(range(1, 3), 5), ending], [ending], [frame(range(2, 6), 5, over=True)]]
    assert face.follow(server.target) == [1, 2, 3, 4, 5]
    assert server.opened == [0, 2, 2]


def test_following_ends_only_with_the_execution(server: Server, face: Face) -> None:
    server.streams = [[frame([2], 9, following=7, over=True)], [frame([], 9, following=9, over=True)]]
    assert face.follow(server.target, ["run.*"]) == [2]
    assert server.opened == [0, 7]


@pytest.mark.parametrize(
    "acts",
    [
        pytest.param([frame([1], 3), frame([3], 3, over=True)], id="a gap after the cursor"),
        pytest.param([frame([1, 3], 3, over=True)], id="a gap within a frame"),
        pytest.param([frame([1, 1], 3, following=2)], id="an event twice in a frame"),
        pytest.param([frame([], 2, following=2, over=True)], id="a cursor that skips events"),
        pytest.param([frame([1, 2], 3, following=1)], id="a cursor behind its events"),
        pytest.param([frame(range(1, 4), 2, over=True)], id="a head that is behind the log"),
    ],
)
def test_a_log_that_is_not_contiguous_is_refused(server: Server, face: Face, acts: list[Act]) -> None:
    server.streams = [acts]
    with pytest.raises(ContiguityError):
        face.follow(server.target)
    assert server.opened == [0]


def test_what_the_server_refuses_is_raised_at_once(server: Server, face: Face) -> None:
    server.streams = [[refused(grpc.StatusCode.NOT_FOUND, "NOT_FOUND", resource="execution", id="exe_1")]]
    with pytest.raises(HarnessError) as raised:
        face.follow(server.target)
    assert (raised.value.reason, raised.value.metadata["id"]) == ("NOT_FOUND", "exe_1")
    assert server.opened == [0]


def test_a_server_that_stays_away_is_given_up(server: Server, face: Face) -> None:
    with pytest.raises(HarnessError) as raised:
        face.follow(server.target)
    assert raised.value.code is grpc.StatusCode.UNAVAILABLE
    assert len(server.opened) > 10


@pytest.mark.parametrize("give_up", ["stream", "call"])
def test_the_time_to_give_up_counts_from_the_first_failure(monkeypatch: pytest.MonkeyPatch, give_up: str) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    log = Log(WAITS, "exe_1", 0, []) if give_up == "stream" else Patience(WAITS, WAITS.call_give_up)
    if isinstance(log, Log):
        log.open()
        assert [event.sequence for event in log.take(frame([1], 2))] == [1]
    for now in (60, 60.4):
        log.delay(ended())
    now = 60.6
    with pytest.raises(HarnessError):
        log.delay(ended())


@pytest.mark.parametrize("call", ["start", "send"])
def test_a_call_is_sent_again_with_the_same_key(server: Server, face: Face, call: str) -> None:
    def once() -> str:
        server.faults = [DOWN, DOWN]
        if call == "start":
            return face.start(server.target, StartExecutionRequest()).id
        return face.send(server.target, SendInputRequest()).input_id

    assert {once(), once()} == {"exe_1" if call == "start" else "inp_1"}
    assert len(server.keys) == 6
    assert len(set(server.keys)) == 2 and "" not in server.keys


def test_a_read_is_sent_again(server: Server, face: Face) -> None:
    server.faults = [DOWN, DOWN]
    assert face.get(server.target, "exe_7").id == "exe_7"


def test_waiting_returns_the_execution_as_it_ended(server: Server, face: Face) -> None:
    server.streams = [[frame([2], 9, following=3), DOWN], [frame([9], 9, following=9, over=True)]]
    assert face.wait(server.target, "exe_7").id == "exe_7"
    assert server.opened == [0, 3]


def test_waiting_for_what_the_server_refuses_raises(server: Server, face: Face) -> None:
    server.streams = [[refused(grpc.StatusCode.NOT_FOUND, "NOT_FOUND")]]
    with pytest.raises(HarnessError, match="NOT_FOUND"):
        face.wait(server.target, "exe_1")


def test_a_server_that_stays_silent_is_given_up_for_silence(server: Server, face: Face) -> None:
    server.streams = [[SILENCE]] * 100
    with pytest.raises(HarnessError, match="DEADLINE_EXCEEDED: nothing arrived"):
        face.follow(server.target)


def test_the_callers_key_and_token_are_sent(server: Server, face: Face) -> None:
    request = StartExecutionRequest(idempotency_key="mine")
    face.start(server.target, request)
    assert server.keys == ["mine"]
    assert server.headers["authorization"] == "Bearer secret"


def test_a_cancel_is_sent_again(server: Server, face: Face) -> None:
    server.faults = [DOWN]
    execution = face.cancel(server.target, "enough")
    assert (execution.id, execution.state) == ("exe_1", EXECUTION_STATE_CANCELLING)
    assert server.keys == ["enough", "enough"]


def test_an_answer_that_comes_second_is_told_who_was_first(server: Server, face: Face) -> None:
    answer = ActionResponse(approved=True)
    server.faults = [DOWN]
    assert face.respond(server.target, answer).approved
    server.faults = [refused(grpc.StatusCode.FAILED_PRECONDITION, "ACTION_ALREADY_RESOLVED", responder="u")]
    with pytest.raises(HarnessError) as raised:
        face.respond(server.target, answer)
    assert (raised.value.reason, raised.value.metadata) == ("ACTION_ALREADY_RESOLVED", {"responder": "u"})


def test_errors_say_the_fields_and_the_time_to_wait(server: Server, face: Face) -> None:
    fields = BadRequest(field_violations=[BadRequest.FieldViolation(field="mode", description="is required")])
    retry = RetryInfo(retry_delay=Duration(seconds=1, nanos=500_000_000))
    server.faults = [refused(grpc.StatusCode.INVALID_ARGUMENT, "VALIDATION_ERROR", fields, retry, field="mode")]
    with pytest.raises(HarnessError) as raised:
        face.start(server.target, StartExecutionRequest())
    error = raised.value
    assert (error.reason, error.metadata) == ("VALIDATION_ERROR", {"field": "mode"})
    assert error.violations == [("mode", "is required")]
    assert error.retry_after == 1.5
    assert (str(error), error.message) == ("VALIDATION_ERROR: failed", "failed")
    assert "_InactiveRpcError" not in "".join(traceback.format_exception(error))


def test_errors_without_a_reason_say_the_code_and_have_their_cause(server: Server, face: Face) -> None:
    server.faults = [Failure(grpc.StatusCode.UNIMPLEMENTED)]
    with pytest.raises(HarnessError, match="^UNIMPLEMENTED: ") as raised:
        face.start(server.target, StartExecutionRequest())
    assert isinstance(raised.value.__cause__, grpc.RpcError)


def test_leaving_the_loop_ends_the_stream(server: Server) -> None:
    server.streams = [[frame([1], 2), SILENCE], [frame([2], 2, over=True)]]
    with Client.dial(server.target, waits=Waits(heartbeat=60)) as client:
        for event in client.follow_events("exe_1"):
            assert event.sequence == 1
            break
        assert [event.sequence for event in client.follow_events("exe_1", 1)] == [2]


def test_an_address_is_a_host_and_a_port_as_they_are_or_as_a_url() -> None:
    for address in ("127.0.0.1:4310", "http://127.0.0.1:4310", "http://127.0.0.1:4310/"):
        assert target_of(address) == "127.0.0.1:4310"
    assert target_of("http://[::1]:4310") == "[::1]:4310"


@pytest.mark.parametrize("address", ["", "127.0.0.1", "https://127.0.0.1:4310", "http://127.0.0.1:4310/v1", "a b:1"])
@pytest.mark.parametrize("dial", [Client.dial, aio.Client.dial])
def test_any_other_address_is_refused_at_once(dial: Callable[[str], object], address: str) -> None:
    with pytest.raises(ValueError, match="^address: must be host:port or http://host:port, such as 127.0.0.1:4310$"):
        dial(address)
