"""The attempts that an instance has, over all its streams."""

import logging
from collections.abc import Callable

from harnessruntime.provider.v1.provider_pb2 import HeldExecution, Registered
from harnessruntime.provider.v1.provider_service_pb2 import Ack, ConnectRequest, ConnectResponse
from harnessruntime.provider.v1.run_pb2 import ActionAnswer, Cancel, Input, Run
from harnessruntime.v1.execution_pb2 import Execution

from harnessruntime_provider.attempt import Attempt
from harnessruntime_provider.provider import Provider
from harnessruntime_provider.refusal import refusal_of

log = logging.getLogger("harnessruntime_provider")


class Held:
    """Gives each attempt what comes for it, and takes from each in its turn what it has to send."""

    def __init__(self, provider: Provider, wake: Callable[[], None], emptied: Callable[[], None]) -> None:
        self.provider = provider
        self._wake = wake
        self._emptied = emptied
        self._attempts: dict[str, Attempt] = {}

    def __len__(self) -> int:
        return len(self._attempts)

    def list(self) -> list[HeldExecution]:
        """What a new stream says of them."""
        return [
            HeldExecution(execution_id=one.execution_id, attempt=one.attempt, last_emit_id=one.outbox.last_emit_id)
            for one in self._attempts.values()
        ]

    def reconcile(self, registered: Registered) -> None:
        """The runtime named those that are still ours: the others end, these send again what may be lost."""
        named = {held.execution_id: held for held in registered.executions}
        for attempt in list(self._attempts.values()):
            held = named.get(attempt.execution_id)
            if held is not None and held.attempt == attempt.attempt:
                attempt.outbox.reopen(held.last_emit_id)
            else:
                attempt.drop("the execution is no longer this instance's")

    def drop_all(self, why: str) -> None:
        """Ends all of them."""
        for attempt in list(self._attempts.values()):
            attempt.drop(why)

    def next(self) -> ConnectRequest | None:
        """Returns the next message of any attempt, each in its turn."""
        for execution_id, attempt in list(self._attempts.items()):
            message = attempt.outbox.next()
            if message is not None:
                self._attempts[execution_id] = self._attempts.pop(execution_id)
                return message
        return None

    def receive(self, response: ConnectResponse) -> None:
        """Takes one message of the runtime for an attempt."""
        kind = response.WhichOneof("message")
        if kind == "run":
            if (attempt := self._attempt_for(response.run)) is not None:
                attempt.run(response.run)
        elif kind == "input" and (attempt := self._find(response.input)) is not None:
            attempt.take_input(response.input)
        elif kind == "action_answer" and (attempt := self._find(response.action_answer)) is not None:
            attempt.answer(response.action_answer)
        elif kind == "cancel":
            self._cancel(response.cancel)
        elif kind == "ack" and (attempt := self._find(response.ack)) is not None:
            refusal = refusal_of(response.ack.error) if response.ack.HasField("error") else None
            if refusal is not None:
                log.warning("execution %s: the runtime refused a message: %s", attempt.execution_id, refusal)
            if refusal is not None and refusal.reason == "FENCED":
                attempt.drop(refusal.message)
            else:
                attempt.ack(response.ack.emit_id, refusal)

    def wake(self) -> None:
        """There is something to send."""
        self._wake()

    def ended(self, attempt: Attempt) -> None:
        """An attempt is over."""
        if self._attempts.get(attempt.execution_id) is attempt:
            del self._attempts[attempt.execution_id]
        if not self._attempts:
            self._emptied()

    def _find(self, message: Input | ActionAnswer | Ack) -> Attempt | None:
        found = self._attempts.get(message.execution_id)
        return found if found is not None and found.attempt == message.attempt else None

    def _cancel(self, cancel: Cancel) -> None:
        """What it never had, or has no more, is confirmed as well; and a `run` that comes behind it begins nothing."""
        unheard_of = Run(execution=Execution(id=cancel.execution_id), attempt=cancel.attempt)
        if (attempt := self._attempt_for(unheard_of)) is not None:
            attempt.cancel(cancel.reason)

    def _attempt_for(self, run: Run) -> Attempt | None:
        """Returns the attempt of a run, new where it is later than the one there is; an earlier one is none of ours."""
        found = self._attempts.get(run.execution.id)
        if found is not None and found.attempt < run.attempt:
            found.drop("a later attempt took its place")
            found = None
        if found is None:
            found = self._attempts[run.execution.id] = Attempt(self, run)
        return found if found.attempt == run.attempt else None
