from harnessruntime.v1 import input_pb2 as _input_pb2
from harnessruntime.v1 import principal_pb2 as _principal_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InputAccepted(_message.Message):
    __slots__ = ("input_id", "mode", "digest", "principal")
    INPUT_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    input_id: str
    mode: _input_pb2.InputMode
    digest: str
    principal: _principal_pb2.Principal
    def __init__(self, input_id: _Optional[str] = ..., mode: _Optional[_Union[_input_pb2.InputMode, str]] = ..., digest: _Optional[str] = ..., principal: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ...) -> None: ...

class InputConsumed(_message.Message):
    __slots__ = ("input_id", "turn", "superseded_turn")
    INPUT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_TURN_FIELD_NUMBER: _ClassVar[int]
    input_id: str
    turn: int
    superseded_turn: int
    def __init__(self, input_id: _Optional[str] = ..., turn: _Optional[int] = ..., superseded_turn: _Optional[int] = ...) -> None: ...

class InputDropped(_message.Message):
    __slots__ = ("input_id", "reason")
    INPUT_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    input_id: str
    reason: _input_pb2.InputDropReason
    def __init__(self, input_id: _Optional[str] = ..., reason: _Optional[_Union[_input_pb2.InputDropReason, str]] = ...) -> None: ...
