"""What one attempt sends, in order, until the runtime has it."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from harnessruntime.provider.v1.provider_service_pb2 import ConnectRequest


def quiet(future: asyncio.Future[None]) -> asyncio.Future[None]:
    """Who does not wait for a future learns of its failure from what the runtime then does: nothing is logged."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


@dataclass
class _Entry:
    emit_id: int
    message: ConnectRequest
    stored: asyncio.Future[None]
    #: The key of a question without its answer: kept, and sent again after a reconnect, although it is stored.
    key: str
    is_stored: bool = False


class Outbox:
    """A message is sent once a stream; after a reconnect all that may be lost is sent again."""

    def __init__(self) -> None:
        #: The last `emit_id` given out; 0 where there was none.
        self.last_emit_id = 0
        self._entries: list[_Entry] = []
        self._unsent: deque[_Entry] = deque()
        self._closed: Exception | None = None

    def __bool__(self) -> bool:
        """Whether anything waits to be acknowledged or answered."""
        return bool(self._entries)

    def add(self, make: Callable[[int], ConnectRequest]) -> asyncio.Future[None]:
        """Adds a message; the future is done once it is stored, and fails where it is refused or the attempt is over."""
        stored = quiet(asyncio.get_running_loop().create_future())
        if self._closed is not None:
            stored.set_exception(self._closed)
            return stored
        self.last_emit_id += 1
        message = make(self.last_emit_id)
        key = message.request_action.key if message.HasField("request_action") else ""
        entry = _Entry(self.last_emit_id, message, stored, key)
        self._entries.append(entry)
        self._unsent.append(entry)
        return stored

    def next(self) -> ConnectRequest | None:
        """Returns the next message that the current stream was not given."""
        return self._unsent.popleft().message if self._unsent else None

    def reopen(self, stored_emit_id: int) -> None:
        """A new stream: what is up to `stored_emit_id` is stored, all else is sent again."""
        self.ack(stored_emit_id, None)
        self._unsent = deque(self._entries)

    def ack(self, emit_id: int, refusal: Exception | None) -> None:
        """Everything up to `emit_id` was dealt with; that one itself was refused where there is an error."""
        for entry in self._entries:
            if entry.emit_id > emit_id:
                break
            entry.is_stored = True
            if entry.emit_id == emit_id and refusal is not None:
                entry.key = ""
            if not entry.stored.done():
                if entry.emit_id == emit_id and refusal is not None:
                    entry.stored.set_exception(refusal)
                else:
                    entry.stored.set_result(None)
        self._drop()

    def answered(self, key: str) -> None:
        """The question asked with `key` has its answer, or needs none any more."""
        for entry in self._entries:
            if entry.key == key:
                entry.key = ""
        self._drop()

    def close(self, error: Exception) -> None:
        """Sends nothing more; what waits fails."""
        self._closed = self._closed or error
        for entry in self._entries:
            if not entry.stored.done():
                entry.stored.set_exception(self._closed)
        self._entries.clear()
        self._unsent.clear()

    def _drop(self) -> None:
        self._entries = [entry for entry in self._entries if entry.key or not entry.is_stored]
