"""One stream to the runtime, from `register` to its end."""

import asyncio
from collections.abc import AsyncIterator, Callable

import grpc
from harnessruntime.provider.v1.provider_pb2 import Drain, Heartbeat, Register, Registered
from harnessruntime.provider.v1.provider_service_pb2 import ConnectRequest, ConnectResponse
from harnessruntime.provider.v1.provider_service_pb2_grpc import ProviderServiceStub

from harnessruntime_provider.held import Held

#: So many heartbeat intervals without a word, and the runtime is taken for gone.
_SILENT_INTERVALS = 3
#: How many seconds the runtime may take to answer `register`.
_REGISTER_TIMEOUT = 30.0


class Session:
    """Sends what the attempts have, and gives them what comes."""

    def __init__(
        self,
        held: Held,
        instance_id: str,
        on_registered: Callable[[Registered], None],
        on_drain: Callable[[], None],
    ) -> None:
        self.last_heard = 0.0
        self._held = held
        self._instance_id = instance_id
        self._wake = asyncio.Event()
        self._on_registered = on_registered
        self._on_drain = on_drain
        self._is_registered = self._is_over = False
        self._must_drain = False
        self._heartbeat = 10.0

    def wake(self) -> None:
        """There is something to send."""
        self._wake.set()

    def drain(self) -> None:
        """Tells the runtime to give no more executions."""
        self._must_drain = True
        self.wake()

    async def run(self, channel: grpc.aio.Channel, metadata: tuple[tuple[str, str], ...]) -> None:
        """Runs until the stream ends; raises why it broke."""
        loop = asyncio.get_running_loop()
        call = ProviderServiceStub(channel).Connect(self._requests(), metadata=metadata)
        try:
            while True:
                limit = _SILENT_INTERVALS * self._heartbeat if self._is_registered else _REGISTER_TIMEOUT
                response = await asyncio.wait_for(call.read(), limit)
                if not isinstance(response, ConnectResponse):
                    return
                self.last_heard = loop.time()
                self._receive(response)
        finally:
            # gRPC may go on reading from the requests of a call that is over: what they take then would be lost.
            self._is_over = True
            self.wake()
            call.cancel()

    def _receive(self, response: ConnectResponse) -> None:
        kind = response.WhichOneof("message")
        if kind == "registered":
            self._heartbeat = max(response.registered.heartbeat_interval.ToTimedelta().total_seconds(), 0.001)
            self._held.reconcile(response.registered)
            self._is_registered = True
            self._on_registered(response.registered)
            self._wake.set()
        elif kind == "drain":
            self._on_drain()
        else:
            self._held.receive(response)

    async def _requests(self) -> AsyncIterator[ConnectRequest]:
        """What is sent, pulled one by one as the stream takes it."""
        provider = self._held.provider
        yield ConnectRequest(
            register=Register(
                manifest=provider.manifest(),
                instance_id=self._instance_id,
                capacity=provider.capacity,
                executions=self._held.list(),
            )
        )
        while not self._is_over:
            self._wake.clear()
            message = self._next()
            if message is not None:
                yield message
                continue
            try:
                await asyncio.wait_for(self._wake.wait(), self._heartbeat)
            except asyncio.TimeoutError:
                heartbeat = Heartbeat()
                heartbeat.time.GetCurrentTime()
                yield ConnectRequest(heartbeat=heartbeat)

    def _next(self) -> ConnectRequest | None:
        if not self._is_registered:
            return None
        if self._must_drain:
            self._must_drain = False
            return ConnectRequest(drain=Drain())
        return self._held.next()
