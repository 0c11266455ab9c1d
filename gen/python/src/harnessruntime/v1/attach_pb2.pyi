from google.rpc import status_pb2 as _status_pb2
from harnessruntime.v1 import content_pb2 as _content_pb2
from harnessruntime.v1 import event_stream_pb2 as _event_stream_pb2
from harnessruntime.v1 import execution_pb2 as _execution_pb2
from harnessruntime.v1 import execution_commands_pb2 as _execution_commands_pb2
from harnessruntime.v1 import input_pb2 as _input_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AttachExecutionRequest(_message.Message):
    __slots__ = ("command_id", "attach", "start", "send_input", "cancel", "ping")
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    ATTACH_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    SEND_INPUT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    command_id: str
    attach: AttachCommand
    start: _execution_commands_pb2.StartExecutionRequest
    send_input: SendInputCommand
    cancel: CancelCommand
    ping: PingCommand
    def __init__(self, command_id: _Optional[str] = ..., attach: _Optional[_Union[AttachCommand, _Mapping]] = ..., start: _Optional[_Union[_execution_commands_pb2.StartExecutionRequest, _Mapping]] = ..., send_input: _Optional[_Union[SendInputCommand, _Mapping]] = ..., cancel: _Optional[_Union[CancelCommand, _Mapping]] = ..., ping: _Optional[_Union[PingCommand, _Mapping]] = ...) -> None: ...

class AttachCommand(_message.Message):
    __slots__ = ("execution_id", "after_sequence", "event_types")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPES_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    after_sequence: int
    event_types: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, execution_id: _Optional[str] = ..., after_sequence: _Optional[int] = ..., event_types: _Optional[_Iterable[str]] = ...) -> None: ...

class SendInputCommand(_message.Message):
    __slots__ = ("input", "mode", "idempotency_key")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    input: _content_pb2.Content
    mode: _input_pb2.InputMode
    idempotency_key: str
    def __init__(self, input: _Optional[_Union[_content_pb2.Content, _Mapping]] = ..., mode: _Optional[_Union[_input_pb2.InputMode, str]] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class CancelCommand(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class PingCommand(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AttachExecutionResponse(_message.Message):
    __slots__ = ("snapshot", "events", "receipt")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    snapshot: _execution_pb2.Execution
    events: _event_stream_pb2.WatchEventsResponse
    receipt: CommandReceipt
    def __init__(self, snapshot: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ..., events: _Optional[_Union[_event_stream_pb2.WatchEventsResponse, _Mapping]] = ..., receipt: _Optional[_Union[CommandReceipt, _Mapping]] = ...) -> None: ...

class CommandReceipt(_message.Message):
    __slots__ = ("command_id", "send_input", "cancel", "pong", "error")
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    SEND_INPUT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    PONG_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    command_id: str
    send_input: _execution_commands_pb2.SendInputResponse
    cancel: _execution_commands_pb2.CancelExecutionResponse
    pong: Pong
    error: _status_pb2.Status
    def __init__(self, command_id: _Optional[str] = ..., send_input: _Optional[_Union[_execution_commands_pb2.SendInputResponse, _Mapping]] = ..., cancel: _Optional[_Union[_execution_commands_pb2.CancelExecutionResponse, _Mapping]] = ..., pong: _Optional[_Union[Pong, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class Pong(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
