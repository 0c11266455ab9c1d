"""The questions of one attempt: what was asked, and what was answered."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from google.protobuf import json_format
from harnessruntime.provider.v1.run_pb2 import ActionAnswer
from harnessruntime.v1.principal_pb2 import Principal


class QuestionAbandoned(Exception):
    """There will be no answer: the turn was replaced, failed or was cancelled."""


@dataclass(frozen=True)
class Answer:
    """The answer to a question, or that there was none in time."""

    action_id: str
    key: str
    #: For an approval; false where it expired.
    approved: bool
    #: The chosen option's id; "" where none was named.
    option_id: str
    #: For an input, as plain JSON; None where it expired.
    value: Any
    responder: Principal
    #: Nobody answered in time.
    expired: bool
    #: It was handed over before, and may have been applied: do not apply it again.
    delivered: bool


def answer_of(message: ActionAnswer) -> Answer:
    """Returns an answer as a provider gets it."""
    response = message.response
    return Answer(
        action_id=message.action_id,
        key=message.key,
        approved=response.approved,
        option_id=response.option_id,
        value=json_format.MessageToDict(response.value) if response.HasField("value") else None,
        responder=message.responder,
        expired=message.expired,
        delivered=message.delivered,
    )


class Answers:
    """Whoever asks with a key that was asked before opens nothing."""

    def __init__(self, earlier: Iterable[ActionAnswer]) -> None:
        self._inherited = {answer.key: answer_of(answer) for answer in earlier if answer.delivered}
        self._given: dict[str, Answer] = {}
        self._asked: dict[str, asyncio.Future[Answer]] = {}

    def known(self, key: str) -> Answer | None:
        """Returns the answer that was handed over before."""
        given = self._given.get(key)
        return self._inherited.get(key) if given is None else replace(given, delivered=True)

    def wait(self, key: str) -> tuple[asyncio.Future[Answer], bool]:
        """Returns what will be the answer, and whether it has to be asked for."""
        if (waiting := self._asked.get(key)) is not None:
            return waiting, False
        self._asked[key] = asyncio.get_running_loop().create_future()
        self._asked[key].add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._asked[key], True

    def settle(self, message: ActionAnswer) -> None:
        """Takes an answer. One that nobody waits for was handed over before."""
        waiting = self._asked.pop(message.key, None)
        if waiting is None or waiting.done():
            return
        if message.abandoned:
            waiting.set_exception(QuestionAbandoned(message.key))
            return
        # Nobody in this process has seen it yet, and no attempt before it: whatever the wire did, it is new.
        answer = replace(answer_of(message), delivered=message.key in self._inherited)
        self._given[message.key] = answer
        waiting.set_result(answer)

    def refuse(self, key: str, error: Exception) -> None:
        """The question asked with `key` was not taken."""
        waiting = self._asked.pop(key, None)
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)

    def abandon(self) -> list[str]:
        """Nobody waits any more: returns the keys of what was asked."""
        keys = list(self._asked)
        for key in keys:
            self.refuse(key, QuestionAbandoned(key))
        return keys
