from google.rpc import status_pb2 as _status_pb2
from harnessruntime.provider.v1 import provider_pb2 as _provider_pb2
from harnessruntime.provider.v1 import run_pb2 as _run_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConnectRequest(_message.Message):
    __slots__ = ("register", "emit", "request_action", "finish", "cancelled", "heartbeat", "drain")
    REGISTER_FIELD_NUMBER: _ClassVar[int]
    EMIT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ACTION_FIELD_NUMBER: _ClassVar[int]
    FINISH_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    register: _provider_pb2.Register
    emit: _run_pb2.Emit
    request_action: _run_pb2.RequestAction
    finish: _run_pb2.Finish
    cancelled: _run_pb2.Cancelled
    heartbeat: _provider_pb2.Heartbeat
    drain: _provider_pb2.Drain
    def __init__(self, register: _Optional[_Union[_provider_pb2.Register, _Mapping]] = ..., emit: _Optional[_Union[_run_pb2.Emit, _Mapping]] = ..., request_action: _Optional[_Union[_run_pb2.RequestAction, _Mapping]] = ..., finish: _Optional[_Union[_run_pb2.Finish, _Mapping]] = ..., cancelled: _Optional[_Union[_run_pb2.Cancelled, _Mapping]] = ..., heartbeat: _Optional[_Union[_provider_pb2.Heartbeat, _Mapping]] = ..., drain: _Optional[_Union[_provider_pb2.Drain, _Mapping]] = ...) -> None: ...

class ConnectResponse(_message.Message):
    __slots__ = ("registered", "run", "input", "action_answer", "cancel", "ack", "drain", "heartbeat")
    REGISTERED_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    ACTION_ANSWER_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    registered: _provider_pb2.Registered
    run: _run_pb2.Run
    input: _run_pb2.Input
    action_answer: _run_pb2.ActionAnswer
    cancel: _run_pb2.Cancel
    ack: Ack
    drain: _provider_pb2.Drain
    heartbeat: _provider_pb2.Heartbeat
    def __init__(self, registered: _Optional[_Union[_provider_pb2.Registered, _Mapping]] = ..., run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., input: _Optional[_Union[_run_pb2.Input, _Mapping]] = ..., action_answer: _Optional[_Union[_run_pb2.ActionAnswer, _Mapping]] = ..., cancel: _Optional[_Union[_run_pb2.Cancel, _Mapping]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., drain: _Optional[_Union[_provider_pb2.Drain, _Mapping]] = ..., heartbeat: _Optional[_Union[_provider_pb2.Heartbeat, _Mapping]] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("execution_id", "attempt", "emit_id", "error")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EMIT_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    emit_id: int
    error: _status_pb2.Status
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., emit_id: _Optional[int] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...
