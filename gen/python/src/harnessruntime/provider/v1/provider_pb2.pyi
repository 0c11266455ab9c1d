import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from harnessruntime.v1 import provider_pb2 as _provider_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Register(_message.Message):
    __slots__ = ("manifest", "instance_id", "capacity", "executions")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    manifest: _provider_pb2.ProviderManifest
    instance_id: str
    capacity: int
    executions: _containers.RepeatedCompositeFieldContainer[HeldExecution]
    def __init__(self, manifest: _Optional[_Union[_provider_pb2.ProviderManifest, _Mapping]] = ..., instance_id: _Optional[str] = ..., capacity: _Optional[int] = ..., executions: _Optional[_Iterable[_Union[HeldExecution, _Mapping]]] = ...) -> None: ...

class HeldExecution(_message.Message):
    __slots__ = ("execution_id", "attempt", "last_emit_id")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    LAST_EMIT_ID_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    last_emit_id: int
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., last_emit_id: _Optional[int] = ...) -> None: ...

class Registered(_message.Message):
    __slots__ = ("instance_id", "protocol_version", "executions", "heartbeat_interval", "grace", "max_event_bytes")
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    GRACE_FIELD_NUMBER: _ClassVar[int]
    MAX_EVENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    instance_id: str
    protocol_version: str
    executions: _containers.RepeatedCompositeFieldContainer[HeldExecution]
    heartbeat_interval: _duration_pb2.Duration
    grace: _duration_pb2.Duration
    max_event_bytes: int
    def __init__(self, instance_id: _Optional[str] = ..., protocol_version: _Optional[str] = ..., executions: _Optional[_Iterable[_Union[HeldExecution, _Mapping]]] = ..., heartbeat_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_event_bytes: _Optional[int] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("time",)
    TIME_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Drain(_message.Message):
    __slots__ = ("grace",)
    GRACE_FIELD_NUMBER: _ClassVar[int]
    grace: _duration_pb2.Duration
    def __init__(self, grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
