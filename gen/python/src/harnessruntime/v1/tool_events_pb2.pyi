from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ToolCallStarted(_message.Message):
    __slots__ = ("tool_call_id", "name", "kind", "title", "input")
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    tool_call_id: str
    name: str
    kind: str
    title: str
    input: _struct_pb2.Value
    def __init__(self, tool_call_id: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., input: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...

class ToolCallUpdated(_message.Message):
    __slots__ = ("tool_call_id", "name", "kind", "title", "input", "output")
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    tool_call_id: str
    name: str
    kind: str
    title: str
    input: _struct_pb2.Value
    output: _struct_pb2.Value
    def __init__(self, tool_call_id: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., input: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., output: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...

class ToolCallCompleted(_message.Message):
    __slots__ = ("tool_call_id", "name", "kind", "title", "input", "output", "denied", "error")
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    DENIED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    tool_call_id: str
    name: str
    kind: str
    title: str
    input: _struct_pb2.Value
    output: _struct_pb2.Value
    denied: bool
    error: str
    def __init__(self, tool_call_id: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., input: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., output: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., denied: _Optional[bool] = ..., error: _Optional[str] = ...) -> None: ...
