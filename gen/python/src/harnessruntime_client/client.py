"""The client for threads."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import grpc
from harnessruntime.v1 import execution_commands_pb2 as commands
from harnessruntime.v1.action_pb2 import ActionRequest, ActionResponse
from harnessruntime.v1.action_service_pb2 import RespondActionRequest
from harnessruntime.v1.action_service_pb2_grpc import ActionServiceStub
from harnessruntime.v1.conversation_service_pb2_grpc import ConversationServiceStub
from harnessruntime.v1.event_pb2 import Event
from harnessruntime.v1.execution_pb2 import Execution
from harnessruntime.v1.execution_service_pb2 import GetExecutionRequest
from harnessruntime.v1.execution_service_pb2_grpc import ExecutionServiceStub
from harnessruntime.v1.runtime_service_pb2_grpc import RuntimeServiceStub

from harnessruntime_client.address import target_of
from harnessruntime_client.errors import HarnessError, ended, error_from, silent
from harnessruntime_client.log import Log, Patience, Waits, with_key

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class Client:
    """A harness runtime, from afar.

    The stubs' own calls are made once and raise `grpc.RpcError`; the methods of this class try again and raise
    :class:`HarnessError`. `Client.dial` makes the channel as well.
    """

    def __init__(self, channel: grpc.Channel, token: str = "", waits: Waits = Waits()) -> None:
        self.runtime = RuntimeServiceStub(channel)
        self.conversations = ConversationServiceStub(channel)
        self.executions = ExecutionServiceStub(channel)
        self.actions = ActionServiceStub(channel)
        self._channel, self._waits = channel, waits
        self._headers = (("authorization", f"Bearer {token}"),) if token else ()

    @classmethod
    def dial(cls, address: str, token: str = "", waits: Waits = Waits()) -> "Client":
        """Makes a client of `host:port` or `http://host:port` without TLS. Use it in a `with` statement."""
        return cls(grpc.insecure_channel(target_of(address), options=waits.channel_options()), token, waits)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def start(self, request: commands.StartExecutionRequest) -> Execution:
        """Starts an execution; it has an idempotency key, so that it is sent again safely."""
        return self._call(self.executions.StartExecution, with_key(request)).execution

    def get(self, execution_id: str) -> Execution:
        """Returns an execution as it stands."""
        return self._call(self.executions.GetExecution, GetExecutionRequest(execution_id=execution_id)).execution

    def wait(self, execution_id: str) -> Execution:
        """Waits for an execution's end, for as long as that takes, and returns it as it ended: look at its `state`.

        Raises as `follow_events` does.
        """
        for _ in self.follow_events(execution_id, event_types=["run.*"]):
            pass
        return self.get(execution_id)

    def send(self, request: commands.SendInputRequest) -> commands.SendInputResponse:
        """Sends an input; it has an idempotency key, so that it is accepted once."""
        return self._call(self.executions.SendInput, with_key(request))

    def cancel(self, execution_id: str, reason: str = "") -> Execution:
        """Asks for an execution's end and returns it: CANCELLING, or as it ended. The first reason counts.

        `wait` returns once the native work has ended.
        """
        request = commands.CancelExecutionRequest(execution_id=execution_id, reason=reason)
        return self._call(self.executions.CancelExecution, request).execution

    def respond(self, execution_id: str, action_id: str, answer: ActionResponse) -> ActionRequest:
        """Answers an action and returns it, answered.

        Exactly one answer is ever accepted: ACTION_ALREADY_RESOLVED after a failure of the network may speak of this
        very answer.
        """
        request = RespondActionRequest(execution_id=execution_id, action_id=action_id, response=answer)
        return self._call(self.actions.RespondAction, request).action

    def follow_events(
        self, execution_id: str, after_sequence: int = 0, event_types: Sequence[str] = ()
    ) -> Iterator[Event]:
        """Yields an execution's events through the terminal one: each once, in order, none missing.

        Ends when the execution is terminal and everything was shown. `event_types` are dotted; a `*` at the end matches
        the rest. Raises `ContiguityError` when an event is missing, and `HarnessError` when the server refuses or
        it has failed for `stream_give_up` with nothing arriving in between.
        """
        log, silence = Log(self._waits, execution_id, after_sequence, event_types), 3 * self._waits.heartbeat
        while True:
            failure = ended()
            stream = self.executions.WatchEvents(log.open(), metadata=self._headers)
            try:
                while (frame := _within(silence, lambda: next(stream, None), stream.cancel)) is not None:
                    yield from log.take(frame)
                    if log.over:
                        return
            except HarnessError as error:
                failure = error
            finally:
                stream.cancel()
            time.sleep(log.delay(failure))

    def _call(self, method: "grpc.UnaryUnaryMultiCallable[_Request, _Response]", request: _Request) -> _Response:
        patience = Patience(self._waits, self._waits.call_give_up)
        while True:
            try:
                return method(request, timeout=self._waits.call_timeout, metadata=self._headers)
            except grpc.RpcError as error:
                failure = error_from(error)
            time.sleep(patience.delay(failure))


def _within(limit: float, read: Callable[[], _Response], cancel: Callable[[], object]) -> _Response:
    """Returns what `read` does. Cancels it after `limit` seconds; what it then raises stands for silence."""
    silence = threading.Event()

    def bark() -> None:
        silence.set()
        cancel()

    watchdog = threading.Timer(limit, bark)
    watchdog.daemon = True
    watchdog.start()
    try:
        return read()
    except grpc.RpcError as error:
        raise silent() if silence.is_set() else error_from(error)
    finally:
        watchdog.cancel()
