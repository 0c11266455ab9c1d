"""One attempt of one execution, over all its turns, as its provider runs it."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from harnessruntime.provider.v1.outcome_pb2 import Outcome
from harnessruntime.provider.v1.provider_service_pb2 import ConnectRequest
from harnessruntime.provider.v1.run_pb2 import ActionAnswer, Cancelled, Finish, HistoryItem, Input, Run
from harnessruntime.v1.input_pb2 import INPUT_MODE_REPLACE

from harnessruntime_provider.answer import Answers
from harnessruntime_provider.context import RunContext
from harnessruntime_provider.outbox import Outbox
from harnessruntime_provider.provider import Provider, failure_of, outcome_of

log = logging.getLogger("harnessruntime_provider")


class Host(Protocol):
    """What an attempt needs of the connection that it comes over."""

    provider: Provider

    def wake(self) -> None:
        """There is something to send."""

    def ended(self, attempt: "Attempt") -> None:
        """The attempt is over."""


class Attempt:
    """What comes a second time, after a reconnect, changes nothing."""

    def __init__(self, host: Host, run: Run) -> None:
        self.execution_id = run.execution.id
        self.attempt = run.attempt
        self.outbox = Outbox()
        self.answers = Answers(run.resume.answers)
        self.history: Sequence[HistoryItem] = run.history
        #: Why the turn must end; "" where it need not.
        self.stopping = ""
        self._host = host
        self._context: RunContext | None = None
        self._task: asyncio.Task[Outcome] | None = None
        self._inputs: set[str] = set()
        #: "finished" once a turn's end was sent, "cancelling" once it was asked to stop, "over" at last.
        self._phase = "finished"
        self._cancel: asyncio.Task[None] | None = None

    def run(self, run: Run) -> None:
        """Begins a turn; one that began before is ignored."""
        if self._phase != "finished" or (self._context is not None and run.turn <= self._context.turn):
            return
        self._phase = "running"
        self.stopping = ""
        self._context = context = RunContext(self, run)
        self._task = asyncio.create_task(self._call(context), name=f"{self.execution_id} turn {run.turn}")
        self._task.add_done_callback(lambda task: self._finished(context, task))

    def take_input(self, message: Input) -> None:
        """Takes an input for the running turn."""
        if self._context is None or self._context.turn != message.turn:
            return
        if message.mode == INPUT_MODE_REPLACE:
            self._stop("the turn was replaced by a new input")
        elif message.input_id not in self._inputs:
            self._inputs.add(message.input_id)
            self._context.take_steer(message.input)

    def answer(self, message: ActionAnswer) -> None:
        """Takes an answer."""
        self.outbox.answered(message.key)
        self.answers.settle(message)

    def cancel(self, reason: str) -> None:
        """Ends the work, then confirms it. The second time nothing happens."""
        if self._phase not in ("cancelling", "over"):
            self._phase = "cancelling"
            self._cancel = asyncio.create_task(self._confirm_cancel(reason))

    def ack(self, emit_id: int, refusal: Exception | None) -> None:
        """Everything up to `emit_id` is stored; where that was the end of the last turn, the execution is over."""
        self.outbox.ack(emit_id, refusal)
        is_done = self._task is None or self._task.done()
        if self._phase != "running" and is_done and not self.outbox and emit_id == self.outbox.last_emit_id:
            self.drop("the execution is over")

    def drop(self, why: str) -> None:
        """Ends it without another word: it is over, or no longer this instance's."""
        if self._phase != "over":
            self._phase = "over"
            self._stop(why)
            self.outbox.close(RuntimeError(why))
            self._host.ended(self)

    def wake(self) -> None:
        """There is something to send."""
        self._host.wake()

    def _stop(self, why: str) -> None:
        self.stopping = self.stopping or why
        for key in self.answers.abandon():
            self.outbox.answered(key)
        if self._task is not None and not self._task.done():
            self._task.cancel(why)

    async def _call(self, context: RunContext) -> Outcome:
        try:
            return outcome_of(await self._host.provider.run(context))
        except asyncio.CancelledError:
            outcome = Outcome()
            outcome.cancelled.SetInParent()
            return outcome
        except Exception as error:
            log.warning("execution %s: the provider failed", self.execution_id, exc_info=error)
            return failure_of(error)

    def _finished(self, context: RunContext, task: asyncio.Task[Outcome]) -> None:
        context.take_steer(None)
        if self._phase != "running":
            return
        self._phase = "finished"
        # A task that was cancelled before it began has no result.
        outcome = Outcome() if task.cancelled() else task.result()
        finish = Finish(execution_id=self.execution_id, attempt=self.attempt, turn=context.turn, outcome=outcome)
        if task.cancelled():
            finish.outcome.cancelled.SetInParent()

        def make(emit_id: int) -> ConnectRequest:
            finish.emit_id = emit_id
            return ConnectRequest(finish=finish)

        self.outbox.add(make)
        self.wake()

    async def _confirm_cancel(self, reason: str) -> None:
        self._stop(reason or "the execution was cancelled")
        if self._task is not None:
            await asyncio.wait([self._task])
        cleanup_error = ""
        if self._context is not None and self._host.provider.cancel is not None:
            try:
                cleanup_error = await self._host.provider.cancel(self._context) or ""
            except Exception as error:
                cleanup_error = str(error) or type(error).__name__
        cancelled = Cancelled(execution_id=self.execution_id, attempt=self.attempt, cleanup_error=cleanup_error)

        def make(emit_id: int) -> ConnectRequest:
            cancelled.emit_id = emit_id
            return ConnectRequest(cancelled=cancelled)

        self.outbox.add(make)
        self.wake()
