from google.protobuf import struct_pb2 as _struct_pb2
from harnessruntime.v1 import usage_pb2 as _usage_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PlanEntryState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLAN_ENTRY_STATE_UNSPECIFIED: _ClassVar[PlanEntryState]
    PLAN_ENTRY_STATE_PENDING: _ClassVar[PlanEntryState]
    PLAN_ENTRY_STATE_IN_PROGRESS: _ClassVar[PlanEntryState]
    PLAN_ENTRY_STATE_COMPLETED: _ClassVar[PlanEntryState]
PLAN_ENTRY_STATE_UNSPECIFIED: PlanEntryState
PLAN_ENTRY_STATE_PENDING: PlanEntryState
PLAN_ENTRY_STATE_IN_PROGRESS: PlanEntryState
PLAN_ENTRY_STATE_COMPLETED: PlanEntryState

class OutputTextDelta(_message.Message):
    __slots__ = ("text", "item_id")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    text: str
    item_id: str
    def __init__(self, text: _Optional[str] = ..., item_id: _Optional[str] = ...) -> None: ...

class OutputTextDone(_message.Message):
    __slots__ = ("text", "item_id")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    text: str
    item_id: str
    def __init__(self, text: _Optional[str] = ..., item_id: _Optional[str] = ...) -> None: ...

class OutputReasoningDelta(_message.Message):
    __slots__ = ("text", "item_id")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    text: str
    item_id: str
    def __init__(self, text: _Optional[str] = ..., item_id: _Optional[str] = ...) -> None: ...

class PlanUpdated(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[PlanEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[PlanEntry, _Mapping]]] = ...) -> None: ...

class PlanEntry(_message.Message):
    __slots__ = ("content", "priority", "state")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    content: str
    priority: str
    state: PlanEntryState
    def __init__(self, content: _Optional[str] = ..., priority: _Optional[str] = ..., state: _Optional[_Union[PlanEntryState, str]] = ...) -> None: ...

class ModelCompleted(_message.Message):
    __slots__ = ("provider", "model", "role", "usage")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    provider: str
    model: str
    role: str
    usage: _usage_pb2.Usage
    def __init__(self, provider: _Optional[str] = ..., model: _Optional[str] = ..., role: _Optional[str] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ...) -> None: ...

class ProviderEvent(_message.Message):
    __slots__ = ("type", "data")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    type: str
    data: _struct_pb2.Struct
    def __init__(self, type: _Optional[str] = ..., data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...
