"""What a provider keeps until the runtime has it, and what it makes of answers that come twice."""

import asyncio

import pytest
from harnessruntime.provider.v1.provider_service_pb2 import ConnectRequest
from harnessruntime.provider.v1.run_pb2 import ActionAnswer, Emit, RequestAction
from harnessruntime_provider.answer import Answers, QuestionAbandoned
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


def test_what_run_returns_or_raises_is_the_outcome() -> None:
    assert outcome_of(None).success.HasField("final_output") is False
    assert outcome_of("text").success.final_output == "text"
    assert outcome_of(3).WhichOneof("result") == "failure"  # type: ignore[arg-type]
    assert failure_of(ValueError()).failure.message == "ValueError"


def test_a_level_that_is_none_is_refused_at_once() -> None:
    async def run(_: object) -> None: ...

    with pytest.raises(ValueError):
        Provider(id="p", version="1", run=run, capabilities={"event.streaming": "SOMEHOW"}).manifest()
