"""What a provider keeps until the runtime has it, and what it makes of answers that come twice."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
from google.rpc.status_pb2 import Status
from harnessruntime.provider.v1.provider_pb2 import Registered
from harnessruntime.provider.v1.provider_service_pb2 import Ack, ConnectRequest, ConnectResponse
from harnessruntime.provider.v1.provider_service_pb2_grpc import (
    ProviderServiceServicer,
    add_ProviderServiceServicer_to_server,
)
from harnessruntime.provider.v1.run_pb2 import ActionAnswer, Cancel, Cancelled, Emit, RequestAction, Run
from harnessruntime.v1.execution_pb2 import Execution
from harnessruntime_provider.answer import Answers, QuestionAbandoned
from harnessruntime_provider.connection import Backoff, connect
from harnessruntime_provider.context import RunContext
from harnessruntime_provider.held import Held
from harnessruntime_provider.outbox import Outbox
from harnessruntime_provider.provider import Provider, failure_of, outcome_of
from harnessruntime_provider.refusal import Refused


def emit(emit_id: int) -> ConnectRequest:
    return ConnectRequest(emit=Emit(execution_id="exe_1", attempt=1, emit_id=emit_id))


def question(emit_id: int) -> ConnectRequest:
    return ConnectRequest(request_action=RequestAction(execution_id="exe_1", attempt=1, emit_id=emit_id, key="k"))


def sent(outbox: Outbox) -> list[int]:
    ids = []
    while (message := outbox.next()) is not None:
        ids.append(message.emit.emit_id or message.request_action.emit_id)
    return ids


def test_a_message_is_sent_once_a_stream_and_again_until_it_is_stored() -> None:
    async def scenario() -> None:
        outbox = Outbox()
        stored = [outbox.add(emit) for _ in range(3)]
        assert sent(outbox) == [1, 2, 3]
        outbox.ack(1, None)
        assert [future.done() for future in stored] == [True, False, False]
        outbox.reopen(2)
        assert sent(outbox) == [3]
        outbox.ack(3, None)
        assert not outbox

    asyncio.run(scenario())


def test_a_question_is_sent_again_until_it_is_answered() -> None:
    async def scenario() -> None:
        outbox = Outbox()
        outbox.add(question)
        outbox.add(emit)
        outbox.ack(2, None)
        outbox.reopen(2)
        assert sent(outbox) == [1]
        outbox.answered("k")
        outbox.reopen(2)
        assert sent(outbox) == []

    asyncio.run(scenario())


def test_only_the_refused_message_fails() -> None:
    async def scenario() -> None:
        outbox = Outbox()
        first, second = outbox.add(emit), outbox.add(emit)
        outbox.ack(2, Refused("too large", "EVENT_TOO_LARGE"))
        assert first.exception() is None
        assert isinstance(second.exception(), Refused)
        outbox.close(RuntimeError("over"))
        assert isinstance(outbox.add(emit).exception(), RuntimeError)

    asyncio.run(scenario())


def test_a_cancel_of_an_attempt_that_is_unheard_of_is_confirmed_and_its_run_begins_nothing() -> None:
    async def scenario() -> None:
        ran: list[int] = []

        async def run(context: RunContext) -> None:
            ran.append(context.turn)

        woken = asyncio.Event()
        held = Held(Provider(id="p", version="1", run=run), woken.set, lambda: None)
        held.receive(ConnectResponse(cancel=Cancel(execution_id="exe_1", attempt=2)))
        await woken.wait()
        message = held.next()
        assert message is not None
        assert message.cancelled == Cancelled(execution_id="exe_1", attempt=2, emit_id=1)
        held.receive(ConnectResponse(run=Run(execution=Execution(id="exe_1"), attempt=2, turn=1)))
        held.receive(ConnectResponse(ack=Ack(execution_id="exe_1", attempt=2, emit_id=1)))
        assert len(held) == 0
        assert ran == []

    asyncio.run(scenario())


class Runtime(ProviderServiceServicer):
    """Gives a run over the first stream and breaks it; says over which executions further ones register."""

    def __init__(self) -> None:
        self.registered: asyncio.Queue[list[str]] = asyncio.Queue()
        self._is_first = True

    async def Connect(
        self, requests: AsyncIterator[ConnectRequest], context: grpc.aio.ServicerContext[ConnectRequest, ConnectResponse]
    ) -> AsyncIterator[ConnectResponse]:
        register = (await anext(requests)).register
        executions = [held.execution_id for held in register.executions]
        registered = Registered(executions=register.executions)
        registered.grace.FromSeconds(30)
        registered.heartbeat_interval.FromSeconds(10)
        yield ConnectResponse(registered=registered)
        if self._is_first:
            self._is_first = False
            yield ConnectResponse(run=Run(execution=Execution(id="exe_1"), attempt=1, turn=1))
            await anext(requests)  # What the run has emitted.
        self.registered.put_nowait(executions)


def test_a_token_that_cannot_be_had_for_a_while_costs_no_execution() -> None:
    async def scenario() -> None:
        async def run(context: RunContext) -> None:
            await context.text("a")

        tries: list[str] = []

        async def token() -> str:
            tries.append("")
            if len(tries) in (2, 3):
                raise OSError("the vault is closed")
            return "token"

        server, runtime = grpc.aio.server(), Runtime()
        add_ProviderServiceServicer_to_server(runtime, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        provider = Provider(id="p", version="1", run=run)
        connection = connect(provider, f"http://127.0.0.1:{port}", token=token, backoff=Backoff(base=0.01, longest=0.01))
        assert await runtime.registered.get() == []
        assert await asyncio.wait_for(runtime.registered.get(), 10) == ["exe_1"]
        assert len(tries) >= 4
        await connection.close()
        await server.stop(None)

    asyncio.run(scenario())


def test_an_answer_is_new_to_this_process_unless_an_attempt_before_had_it() -> None:
    async def scenario() -> None:
        earlier = [ActionAnswer(key="old", delivered=True), ActionAnswer(key="lost")]
        answers = Answers(earlier)
        known = answers.known("old")
        assert known is not None and known.delivered
        assert answers.known("lost") is None
        waiting, is_new = answers.wait("lost")
        assert is_new and answers.wait("lost") == (waiting, False)
        # The runtime had handed it over, but the stream broke before it came: this is the first that sees it.
        answers.settle(ActionAnswer(key="lost", delivered=True))
        assert not waiting.result().delivered
        again = answers.known("lost")
        assert again is not None and again.delivered

    asyncio.run(scenario())


def test_nobody_waits_for_an_abandoned_question() -> None:
    async def scenario() -> None:
        answers = Answers([])
        waiting, _ = answers.wait("k")
        answers.settle(ActionAnswer(key="k", abandoned=True))
        assert isinstance(waiting.exception(), QuestionAbandoned)

    asyncio.run(scenario())


def test_what_the_runtime_refuses_and_what_is_no_outcome_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async def run(context: RunContext) -> int:
            with pytest.raises(Refused):
                await context.approve("k", "Delete it?")
            return 3

        woken = asyncio.Event()
        held = Held(Provider(id="p", version="1", run=run), woken.set, lambda: None)  # type: ignore[arg-type]
        held.receive(ConnectResponse(run=Run(execution=Execution(id="exe_1"), attempt=1, turn=1)))
        await woken.wait()
        woken.clear()
        error = Status(code=3, message="the action needs the capability action.approval")
        held.receive(ConnectResponse(ack=Ack(execution_id="exe_1", attempt=1, emit_id=1, error=error)))
        await woken.wait()

    asyncio.run(scenario())
    refused, failed = caplog.records
    wanted = "execution exe_1: the runtime refused a message: the action needs the capability action.approval"
    assert (refused.levelname, refused.getMessage()) == ("WARNING", wanted)
    assert failed.levelname == "WARNING"
    assert "the provider returned int, which is no outcome" in caplog.text


def test_what_run_returns_or_raises_is_the_outcome() -> None:
    assert outcome_of(None).success.HasField("final_output") is False
    assert outcome_of("text").success.final_output == "text"
    with pytest.raises(TypeError, match="the provider returned int, which is no outcome"):
        outcome_of(3)  # type: ignore[arg-type]
    assert failure_of(ValueError()).failure.message == "ValueError"


async def do_nothing(_: object) -> None: ...


def test_a_level_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValueError) as raised:
        Provider(id="p", version="1", run=do_nothing, capabilities={"event.streaming": "native"})
    levels = "NATIVE, EMULATED, DEGRADED or UNSUPPORTED"
    assert str(raised.value) == f'capabilities["event.streaming"]: must be {levels}, not "native"'


def test_an_address_that_is_none_is_refused_at_once() -> None:
    async def scenario() -> None:
        with pytest.raises(ValueError, match="^address: must be host:port or http://host:port"):
            connect(Provider(id="p", version="1", run=do_nothing), "https://127.0.0.1:4310")

    asyncio.run(scenario())


def test_a_connection_that_ends_although_nobody_closed_it_says_so() -> None:
    async def scenario() -> None:
        capabilities = {"event.streaming": "NATIVE"}
        provider = Provider(id="p", version="1", run=do_nothing, capabilities=capabilities)
        # What comes too late to be checked: the first message cannot be made.
        capabilities["event.streaming"] = "native"
        server = grpc.aio.server()
        add_ProviderServiceServicer_to_server(Runtime(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        connection = connect(provider, f"127.0.0.1:{port}", backoff=Backoff(base=0.01, longest=0.01))
        for ended in (connection.closed(), connection.registered()):
            with pytest.raises(ConnectionError, match="nobody had closed it"):
                await asyncio.wait_for(ended, 10)
        await server.stop(None)

    asyncio.run(scenario())
