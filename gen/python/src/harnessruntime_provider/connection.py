"""Connects a provider to a runtime, and keeps it connected."""

import asyncio
import logging
import random
import signal
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Union

import grpc
from harnessruntime.provider.v1.provider_pb2 import Registered
from harnessruntime_client.address import target_of

from harnessruntime_provider.held import Held
from harnessruntime_provider.provider import Provider
from harnessruntime_provider.refusal import is_final, refusal_from
from harnessruntime_provider.session import Session

log = logging.getLogger("harnessruntime_provider")

#: A token, or what gives it before each try.
Token = Union[str, Callable[[], Awaitable[str]]]
#: The largest message of the runtime is 8 MiB.
_OPTIONS = [
    ("grpc.max_receive_message_length", 16 << 20),
    ("grpc.max_send_message_length", 16 << 20),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
]
#: A stream that lived so many seconds was a good one: the next wait is short again.
_GOOD_STREAM = 10.0


@dataclass(frozen=True)
class Backoff:
    """How long to wait between tries, in seconds: anywhere below a bound that doubles with each."""

    base: float = 0.2
    longest: float = 15.0

    def wait(self, tries: int, longest: float) -> float:
        """Returns the wait before another try, after `tries` of them; at most `longest`."""
        return float(random.uniform(0, min(self.base * 2.0 ** (tries - 1), self.longest, longest)))


class Connection:
    """A provider that is connected, or about to be again. Made by `connect`."""

    def __init__(
        self,
        provider: Provider,
        address: str,
        *,
        token: Token = "",
        credentials: grpc.ChannelCredentials | None = None,
        instance_id: str = "",
        backoff: Backoff = Backoff(),
    ) -> None:
        #: Names this process: stable over reconnects.
        self.instance_id = instance_id or str(uuid.uuid4())
        self._target, self._token, self._credentials, self._backoff = target_of(address), token, credentials, backoff
        self._held = Held(provider, self._something_to_send, self._close_when_drained)
        self._session: Session | None = None
        self._registered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._registered.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._was_registered = self._is_draining = self._is_drained = self._is_closing = False
        self._grace = 0.0
        self._lapse: asyncio.TimerHandle | None = None
        self._task = asyncio.create_task(self._keep_connected())
        self._task.add_done_callback(self._ended)

    @property
    def executions(self) -> int:
        """How many executions it has now."""
        return len(self._held)

    async def registered(self) -> None:
        """Returns when the runtime took it for the first time; raises where it refuses for good."""
        await asyncio.shield(self._registered)

    async def closed(self) -> None:
        """Returns once it is closed by `close` or `drain`; raises why it ended otherwise, as where the runtime refused it."""
        await asyncio.wait([self._task])
        error = self._error()
        if error is not None:
            raise error

    async def drain(self) -> None:
        """Takes no more executions, waits for those that it has, then closes."""
        self._is_draining = True
        if self._session is not None:
            self._session.drain()
        self._close_when_drained()
        await asyncio.wait([self._task])

    async def close(self) -> None:
        """Closes at once: what it has is lost to it."""
        self._stop()
        await asyncio.wait([self._task])

    def _ended(self, _: "asyncio.Task[None]") -> None:
        error = self._error()
        if not self._registered.done():
            self._registered.set_exception(error or ConnectionError("the connection was closed"))

    def _error(self) -> BaseException | None:
        """Why it ended; None where it was closed."""
        if not self._task.cancelled():
            return self._task.exception()
        # gRPC cancels a read, too: where what is to be sent cannot be made, for one.
        return None if self._is_closing else ConnectionError("the connection ended, and nobody had closed it")

    def _something_to_send(self) -> None:
        if self._session is not None:
            self._session.wake()

    def _close_when_drained(self) -> None:
        if self._is_draining and (self._is_drained or not self._was_registered) and not self._held:
            self._stop()

    def _stop(self) -> None:
        """Before Python 3.12 a cancellation is lost where it meets the end of the stream: it is said twice."""
        self._is_closing = True
        self._task.cancel()

    async def _keep_connected(self) -> None:
        loop = asyncio.get_running_loop()
        tries = 0
        try:
            while True:
                began = loop.time()
                await self._connect_once()
                if self._is_closing:
                    return
                tries = 1 if loop.time() - began > _GOOD_STREAM else tries + 1
                await asyncio.sleep(self._backoff.wait(tries, self._longest_wait()))
        finally:
            self._held.drop_all("the provider closed its connection")

    def _longest_wait(self) -> float:
        """So long that what the instance has, or was given just when the stream broke, is in no danger."""
        return self._grace / 5 if self._grace > 0 else float("inf")

    async def _connect_once(self) -> None:
        """Lives through one stream; raises only where the runtime refuses for good."""
        session = Session(self._held, self.instance_id, self._on_registered, self._on_drain)
        self._session = session
        try:
            async with self._channel() as channel:
                await session.run(channel, await self._metadata())
        except grpc.aio.AioRpcError as error:
            if is_final(error, self._was_registered):
                raise refusal_from(error) from error
            log.warning("the connection broke: %s; trying again", error.details())
        except asyncio.TimeoutError:
            log.warning("the runtime says nothing more; trying again")
        except Exception as error:  # What gives the token may fail, too: what the instance has goes on meanwhile.
            log.warning("the connection broke: %s; trying again", str(error) or type(error).__name__)
        finally:
            self._session = None
            self._start_grace(session.last_heard)

    def _channel(self) -> grpc.aio.Channel:
        if self._credentials is None:
            return grpc.aio.insecure_channel(self._target, options=_OPTIONS)
        return grpc.aio.secure_channel(self._target, self._credentials, options=_OPTIONS)

    async def _metadata(self) -> tuple[tuple[str, str], ...]:
        token = self._token if isinstance(self._token, str) else await self._token()
        return (("authorization", f"Bearer {token}"),) if token else ()

    def _on_registered(self, registered: Registered) -> None:
        self._was_registered, self._is_drained = True, False
        self._grace = registered.grace.ToTimedelta().total_seconds()
        if self._lapse is not None:
            self._lapse.cancel()
        if not self._registered.done():
            self._registered.set_result(None)
        if self._is_draining and self._session is not None:
            self._session.drain()

    def _on_drain(self) -> None:
        self._is_drained = True
        self._close_when_drained()

    def _start_grace(self, last_heard: float) -> None:
        """After the grace, counted from the runtime's last word, what the instance has is lost to it."""
        if self._grace > 0 and self._held and last_heard > 0:
            loop = asyncio.get_running_loop()
            lost = "the runtime was away for longer than its grace"
            self._lapse = loop.call_at(last_heard + self._grace, self._held.drop_all, lost)


def connect(
    provider: Provider,
    address: str,
    *,
    token: Token = "",
    credentials: grpc.ChannelCredentials | None = None,
    instance_id: str = "",
    backoff: Backoff = Backoff(),
) -> Connection:
    """Connects a provider to `host:port` or `http://host:port` and keeps it connected.

    Returns at once; without `credentials` there is no TLS.
    """
    return Connection(
        provider, address, token=token, credentials=credentials, instance_id=instance_id, backoff=backoff
    )


async def serve(
    provider: Provider,
    address: str,
    *,
    token: Token = "",
    credentials: grpc.ChannelCredentials | None = None,
) -> None:
    """Connects a provider until SIGTERM or SIGINT, then drains it; the second signal closes it at once."""
    connection = connect(provider, address, token=token, credentials=credentials)
    loop = asyncio.get_running_loop()
    stops: list[asyncio.Task[None]] = []

    def stop() -> None:
        stops.append(asyncio.create_task(connection.close() if stops else connection.drain()))

    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop)
    try:
        await connection.closed()
    finally:
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(name)
