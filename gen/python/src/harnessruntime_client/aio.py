"""The client for asyncio."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

import grpc
from harnessruntime.v1 import execution_commands_pb2 as commands
from harnessruntime.v1.action_pb2 import ActionRequest, ActionResponse
from harnessruntime.v1.action_service_pb2 import RespondActionRequest
from harnessruntime.v1.action_service_pb2_grpc import ActionServiceStub
from harnessruntime.v1.conversation_service_pb2_grpc import ConversationServiceStub
from harnessruntime.v1.event_pb2 import Event
from harnessruntime.v1.event_stream_pb2 import WatchEventsResponse
from harnessruntime.v1.execution_pb2 import Execution
from harnessruntime.v1.execution_service_pb2 import GetExecutionRequest
from harnessruntime.v1.execution_service_pb2_grpc import ExecutionServiceStub
from harnessruntime.v1.runtime_service_pb2_grpc import RuntimeServiceStub

from harnessruntime_client.address import target_of
from harnessruntime_client.errors import ended, error_from, silent
from harnessruntime_client.log import Log, Patience, Waits, with_key

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class Client:
    """As `harnessruntime_client.Client`, for asyncio. Cancelling a task ends its stream; the execution goes on."""

    def __init__(self, channel: grpc.aio.Channel, token: str = "", waits: Waits = Waits()) -> None:
        self.runtime = RuntimeServiceStub(channel)
        self.conversations = ConversationServiceStub(channel)
        self.executions = ExecutionServiceStub(channel)
        self.actions = ActionServiceStub(channel)
        self._channel, self._waits = channel, waits
        self._headers = (("authorization", f"Bearer {token}"),) if token else ()

    @classmethod
    def dial(cls, address: str, token: str = "", waits: Waits = Waits()) -> "Client":
        """Makes a client of `host:port` or `http://host:port` without TLS. Use it in an `async with` statement."""
        return cls(grpc.aio.insecure_channel(target_of(address), options=waits.channel_options()), token, waits)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def start(self, request: commands.StartExecutionRequest) -> Execution:
        """Starts an execution; it has an idempotency key, so that it is sent again safely."""
        return (await self._call(self.executions.StartExecution, with_key(request))).execution

    async def get(self, execution_id: str) -> Execution:
        """Returns an execution as it stands."""
        request = GetExecutionRequest(execution_id=execution_id)
        return (await self._call(self.executions.GetExecution, request)).execution

    async def wait(self, execution_id: str) -> Execution:
        """Waits for an execution's end and returns it as it ended; see the client for threads."""
        async for _ in self.follow_events(execution_id, event_types=["run.*"]):
            pass
        return await self.get(execution_id)

    async def send(self, request: commands.SendInputRequest) -> commands.SendInputResponse:
        """Sends an input; it has an idempotency key, so that it is accepted once."""
        return await self._call(self.executions.SendInput, with_key(request))

    async def cancel(self, execution_id: str, reason: str = "") -> Execution:
        """Asks for an execution's end and returns it; see the client for threads."""
        request = commands.CancelExecutionRequest(execution_id=execution_id, reason=reason)
        return (await self._call(self.executions.CancelExecution, request)).execution

    async def respond(self, execution_id: str, action_id: str, answer: ActionResponse) -> ActionRequest:
        """Answers an action and returns it, answered; see the client for threads."""
        request = RespondActionRequest(execution_id=execution_id, action_id=action_id, response=answer)
        return (await self._call(self.actions.RespondAction, request)).action

    async def follow_events(
        self, execution_id: str, after_sequence: int = 0, event_types: Sequence[str] = ()
    ) -> AsyncIterator[Event]:
        """Yields an execution's events through the terminal one; see the client for threads."""
        log, silence = Log(self._waits, execution_id, after_sequence, event_types), 3 * self._waits.heartbeat
        while True:
            failure = ended()
            stream = self.executions.WatchEvents(log.open(), metadata=self._headers)
            try:
                while isinstance(frame := await asyncio.wait_for(stream.read(), silence), WatchEventsResponse):
                    for event in log.take(frame):
                        yield event
                    if log.over:
                        return
            except asyncio.TimeoutError:
                failure = silent()
            except grpc.aio.AioRpcError as error:
                failure = error_from(error)
            finally:
                stream.cancel()
            await asyncio.sleep(log.delay(failure))

    async def _call(self, method: "grpc.aio.UnaryUnaryMultiCallable[_Request, _Response]", request: _Request) -> _Response:
        patience = Patience(self._waits, self._waits.call_give_up)
        while True:
            try:
                return await method(request, timeout=self._waits.call_timeout, metadata=self._headers)
            except grpc.aio.AioRpcError as error:
                failure = error_from(error)
            await asyncio.sleep(patience.delay(failure))
