from harnessruntime.v1 import event_pb2 as _event_pb2
from harnessruntime.v1 import execution_pb2 as _execution_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListEventsRequest(_message.Message):
    __slots__ = ("execution_id", "after_sequence", "event_types", "page_size")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    after_sequence: int
    event_types: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    def __init__(self, execution_id: _Optional[str] = ..., after_sequence: _Optional[int] = ..., event_types: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events", "next_after_sequence", "head_sequence")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    HEAD_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_event_pb2.Event]
    next_after_sequence: int
    head_sequence: int
    def __init__(self, events: _Optional[_Iterable[_Union[_event_pb2.Event, _Mapping]]] = ..., next_after_sequence: _Optional[int] = ..., head_sequence: _Optional[int] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ("execution_id", "after_sequence", "follow", "event_types", "max_batch")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPES_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    after_sequence: int
    follow: bool
    event_types: _containers.RepeatedScalarFieldContainer[str]
    max_batch: int
    def __init__(self, execution_id: _Optional[str] = ..., after_sequence: _Optional[int] = ..., follow: _Optional[bool] = ..., event_types: _Optional[_Iterable[str]] = ..., max_batch: _Optional[int] = ...) -> None: ...

class WatchEventsResponse(_message.Message):
    __slots__ = ("events", "next_after_sequence", "head_sequence", "state")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    HEAD_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_event_pb2.Event]
    next_after_sequence: int
    head_sequence: int
    state: _execution_pb2.ExecutionState
    def __init__(self, events: _Optional[_Iterable[_Union[_event_pb2.Event, _Mapping]]] = ..., next_after_sequence: _Optional[int] = ..., head_sequence: _Optional[int] = ..., state: _Optional[_Union[_execution_pb2.ExecutionState, str]] = ...) -> None: ...
