"""One turn of one attempt, as its provider sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format
from harnessruntime.provider.v1.provider_service_pb2 import ConnectRequest
from harnessruntime.provider.v1.run_pb2 import Emit, HistoryItem, RequestAction, Resume, Run
from harnessruntime.v1.action_pb2 import ACTION_KIND_APPROVAL, ACTION_KIND_INPUT, ActionOption, ActionRequest
from harnessruntime.v1.artifact_pb2 import Artifact
from harnessruntime.v1.content_pb2 import Content
from harnessruntime.v1.event_pb2 import Event
from harnessruntime.v1.execution_pb2 import Execution

from harnessruntime_provider.answer import Answer

if TYPE_CHECKING:
    from harnessruntime_provider.attempt import Attempt

#: The largest resume state, and the bytes of the events of one message.
_MIB = 1 << 20


class RunContext:
    """What a turn is told, and how it tells the runtime what it does.

    `emit` and its shorthands return a future: await it, and the events are stored; that is the back-pressure. When the
    turn must end (a cancel, a failure, an input that replaces it) the task that runs it is cancelled.
    """

    def __init__(self, attempt: Attempt, run: Run) -> None:
        self.execution: Execution = run.execution
        #: From 1.
        self.attempt = run.attempt
        #: From 1.
        self.turn = run.turn
        #: The input of this turn.
        self.input: Content = run.input
        #: The execution's config, after its schema was checked.
        self.config: dict[str, Any] = json_format.MessageToDict(run.execution.effective_config)
        #: What an attempt before left behind; None on attempt 1 and on later turns.
        self.resume: Resume | None = run.resume if run.HasField("resume") else None
        self._attempt = attempt
        self._steers: asyncio.Queue[Content | None] = asyncio.Queue()
        self._resume_state: bytes | None = None

    @property
    def history(self) -> Sequence[HistoryItem]:
        """Earlier executions of the conversation that succeeded, oldest first."""
        return self._attempt.history

    @property
    def stopping(self) -> str:
        """Why the turn must end; "" where it need not."""
        return self._attempt.stopping

    def emit(self, *events: Event, artifacts: Sequence[Artifact] = ()) -> asyncio.Future[None]:
        """Appends events, in order, then announces artifacts, in one write."""
        batches: list[list[Event]] = [[]]
        left = _MIB
        for event in events:
            left -= event.ByteSize()
            if left < 0 and batches[-1]:
                batches.append([])
                left = _MIB - event.ByteSize()
            batches[-1].append(event)
        for batch in batches[:-1]:
            self._send(batch, (), None)
        state, self._resume_state = self._resume_state, None
        return self._send(batches[-1], artifacts, state)

    def text(self, text: str, item_id: str = "") -> asyncio.Future[None]:
        """Appends a part of the output. An item_id, of at most 200 characters, groups those of one message."""
        event = Event()
        event.output_text_delta.text = text
        event.output_text_delta.item_id = item_id
        return self.emit(event)

    def reasoning(self, text: str) -> asyncio.Future[None]:
        """Appends a part of the reasoning."""
        event = Event()
        event.output_reasoning_delta.text = text
        return self.emit(event)

    def provider_event(self, type: str, data: Mapping[str, Any]) -> asyncio.Future[None]:
        """Appends an event of the provider's own; `type` is namespaced, such as "vendor.name"."""
        event = Event()
        event.provider_event.type = type
        event.provider_event.data.update(data)
        return self.emit(event)

    def save_resume_state(self, state: bytes) -> None:
        """Keeps the provider's own bytes, at most 1 MiB, with the next message that is emitted."""
        if len(state) > _MIB:
            raise ValueError(f"the resume state is {len(state)} bytes and may be {_MIB}")
        self._resume_state = bytes(state)

    async def approve(self, key: str, title: str, description: str = "", options: Sequence[ActionOption] = ()) -> Answer:
        """Asks a person for approval. `key` is stable for the same question over attempts."""
        action = ActionRequest(kind=ACTION_KIND_APPROVAL, title=title, description=description, options=options)
        return await self.request_action(key, action)

    async def ask(self, key: str, title: str, schema: Mapping[str, Any] | None = None) -> Answer:
        """Asks a person for a value. `key` is stable for the same question over attempts."""
        action = ActionRequest(kind=ACTION_KIND_INPUT, title=title)
        if schema is not None:
            action.input_schema.update(schema)
        return await self.request_action(key, action)

    async def request_action(self, key: str, action: ActionRequest) -> Answer:
        """Opens an action and returns its answer; waits behind an open one. With a key that was asked it opens nothing."""
        answers, outbox = self._attempt.answers, self._attempt.outbox
        if (known := answers.known(key)) is not None:
            return known
        waiting, is_new = answers.wait(key)
        if is_new:
            request = RequestAction(execution_id=self.execution.id, attempt=self.attempt, key=key, action=action)
            sent = outbox.add(lambda emit_id: _outgoing(request, emit_id))
            sent.add_done_callback(lambda done: self._refused(key, done))
            self._attempt.wake()
        return await asyncio.shield(waiting)

    async def steers(self) -> AsyncIterator[Content]:
        """The steers of this turn as they come; ends with the turn."""
        while (steer := await self._steers.get()) is not None:
            yield steer

    def take_steer(self, steer: Content | None) -> None:
        """Hands over a steer; None ends them."""
        self._steers.put_nowait(steer)

    def _refused(self, key: str, sent: asyncio.Future[None]) -> None:
        error = None if sent.cancelled() else sent.exception()
        if isinstance(error, Exception):
            self._attempt.answers.refuse(key, error)

    def _send(self, events: Sequence[Event], artifacts: Sequence[Artifact], state: bytes | None) -> asyncio.Future[None]:
        emit = Emit(
            execution_id=self.execution.id,
            attempt=self.attempt,
            events=events,
            artifacts=artifacts,
            resume_state=state,
        )
        stored = self._attempt.outbox.add(lambda emit_id: _outgoing(emit, emit_id))
        self._attempt.wake()
        return stored


def _outgoing(message: Emit | RequestAction, emit_id: int) -> ConnectRequest:
    message.emit_id = emit_id
    return ConnectRequest(emit=message) if isinstance(message, Emit) else ConnectRequest(request_action=message)
