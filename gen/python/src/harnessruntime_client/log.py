"""How far an execution's log was followed, and how long to wait before following it again. Does no I/O."""

import random
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from harnessruntime.v1 import execution_pb2
from harnessruntime.v1.event_pb2 import Event
from harnessruntime.v1.event_stream_pb2 import WatchEventsRequest, WatchEventsResponse
from harnessruntime.v1.execution_commands_pb2 import SendInputRequest, StartExecutionRequest

from harnessruntime_client.errors import ContiguityError, HarnessError, is_retryable

_Keyed = TypeVar("_Keyed", StartExecutionRequest, SendInputRequest)


@dataclass(frozen=True)
class Waits:
    """How long to wait, in seconds."""

    heartbeat: float = 10  #: a stream silent for three of these is opened again
    base_delay: float = 0.1  #: the first wait is between 0 and this, each further one up to twice as long
    max_delay: float = 5  #: no wait is longer, unless the server asks for more
    call_timeout: float = 30  #: how long one try of a call may take
    call_give_up: float = 10  #: a call is not tried again later than this after it first failed
    stream_give_up: float = 600  #: a stream fails this long after it first failed with nothing arriving in between

    def channel_options(self) -> list[tuple[str, int]]:
        """Lets a channel reconnect as fast as this says, and notice within three heartbeats and a half that it is dead."""
        return [
            ("grpc.initial_reconnect_backoff_ms", int(self.base_delay * 1000)),
            ("grpc.max_reconnect_backoff_ms", int(self.max_delay * 1000)),
            ("grpc.keepalive_time_ms", int(self.heartbeat * 2000)),
            ("grpc.keepalive_timeout_ms", int(self.heartbeat * 1500)),
            # A keep-alive waits for a ping that is on its way already, which gRPC gives 60 s.
            ("grpc.http2.ping_timeout_ms", int(self.heartbeat * 1500)),
        ]


class Patience:
    """Decides about the next try. Waits have full jitter, so that clients cut together do not come back together."""

    def __init__(self, waits: Waits, give_up: float) -> None:
        self._waits, self._give_up, self._failures = waits, give_up, 0
        self._opened = time.monotonic()
        #: When it first failed after the last frame. Not since that frame: a reader may be long over it.
        self._failing_since: float | None = None

    def delay(self, error: HarnessError) -> float:
        """Returns how long to wait, or raises the error when there is no further try."""
        now, waits = time.monotonic(), self._waits
        if self._failing_since is None:
            self._failing_since = now
        self._failures = 1 if now - self._opened > waits.max_delay else self._failures + 1
        ceiling = min(waits.max_delay, waits.base_delay * 2 ** min(self._failures - 1, 20))
        delay: float = error.retry_after + random.random() * ceiling
        if not is_retryable(error) or now - self._failing_since + delay > self._give_up:
            raise error
        return delay


class Log(Patience):
    """A reader's place in an execution's log, over all its streams."""

    def __init__(self, waits: Waits, execution_id: str, after_sequence: int, event_types: Sequence[str]) -> None:
        super().__init__(waits, waits.stream_give_up)
        self._id, self._after, self._types, self.over = execution_id, after_sequence, list(event_types), False

    def open(self) -> WatchEventsRequest:
        """Returns what opens the next stream."""
        self._opened = time.monotonic()
        return WatchEventsRequest(execution_id=self._id, after_sequence=self._after, event_types=self._types)

    def take(self, frame: WatchEventsResponse) -> Iterator[Event]:
        """Yields what is new in a frame and moves on; raises ContiguityError when an event is missing."""
        self._failing_since = None
        following, before = frame.next_after_sequence, 0
        for event in frame.events:
            sequence, expected = event.sequence, max(before, self._after) + 1
            if sequence <= before or sequence > following or (sequence > expected and not self._types):
                raise ContiguityError(self._id, expected, sequence)
            before = sequence
            if sequence > self._after:
                self._after, self._failures = sequence, 0
                yield event
        if following > self._after and not self._types:
            raise ContiguityError(self._id, self._after + 1, following + 1)
        self._after = max(self._after, following)
        if frame.head_sequence < self._after:
            raise ContiguityError(self._id, self._after, frame.head_sequence)
        ended = (execution_pb2.EXECUTION_STATE_SUCCEEDED, execution_pb2.EXECUTION_STATE_FAILED)
        is_terminal = frame.state in (*ended, execution_pb2.EXECUTION_STATE_CANCELLED)
        self.over = is_terminal and self._after == frame.head_sequence


def with_key(request: _Keyed) -> _Keyed:
    """A request without an idempotency key gets one; the caller's own message stays as it is."""
    keyed = type(request)()
    keyed.CopyFrom(request)
    if not keyed.HasField("idempotency_key"):
        keyed.idempotency_key = uuid.uuid4().hex
    return keyed
