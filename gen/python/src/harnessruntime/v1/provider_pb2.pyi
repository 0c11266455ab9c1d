import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Topology(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOPOLOGY_UNSPECIFIED: _ClassVar[Topology]
    TOPOLOGY_EMBEDDED: _ClassVar[Topology]
    TOPOLOGY_SUBPROCESS: _ClassVar[Topology]
    TOPOLOGY_REMOTE: _ClassVar[Topology]

class SupportLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUPPORT_LEVEL_UNSPECIFIED: _ClassVar[SupportLevel]
    SUPPORT_LEVEL_NATIVE: _ClassVar[SupportLevel]
    SUPPORT_LEVEL_EMULATED: _ClassVar[SupportLevel]
    SUPPORT_LEVEL_DEGRADED: _ClassVar[SupportLevel]
    SUPPORT_LEVEL_UNSUPPORTED: _ClassVar[SupportLevel]
TOPOLOGY_UNSPECIFIED: Topology
TOPOLOGY_EMBEDDED: Topology
TOPOLOGY_SUBPROCESS: Topology
TOPOLOGY_REMOTE: Topology
SUPPORT_LEVEL_UNSPECIFIED: SupportLevel
SUPPORT_LEVEL_NATIVE: SupportLevel
SUPPORT_LEVEL_EMULATED: SupportLevel
SUPPORT_LEVEL_DEGRADED: SupportLevel
SUPPORT_LEVEL_UNSUPPORTED: SupportLevel

class ProviderManifest(_message.Message):
    __slots__ = ("id", "name", "version", "protocol_version", "topologies", "capabilities", "config_schema", "metadata")
    class CapabilitiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: SupportLevel
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[SupportLevel, str]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGIES_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    CONFIG_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    version: str
    protocol_version: str
    topologies: _containers.RepeatedScalarFieldContainer[Topology]
    capabilities: _containers.ScalarMap[str, SupportLevel]
    config_schema: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., protocol_version: _Optional[str] = ..., topologies: _Optional[_Iterable[_Union[Topology, str]]] = ..., capabilities: _Optional[_Mapping[str, SupportLevel]] = ..., config_schema: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class Provider(_message.Message):
    __slots__ = ("manifest", "available", "unavailable_reason", "active_executions", "capacity", "conformance")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_REASON_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    CONFORMANCE_FIELD_NUMBER: _ClassVar[int]
    manifest: ProviderManifest
    available: bool
    unavailable_reason: str
    active_executions: int
    capacity: int
    conformance: ConformanceResult
    def __init__(self, manifest: _Optional[_Union[ProviderManifest, _Mapping]] = ..., available: _Optional[bool] = ..., unavailable_reason: _Optional[str] = ..., active_executions: _Optional[int] = ..., capacity: _Optional[int] = ..., conformance: _Optional[_Union[ConformanceResult, _Mapping]] = ...) -> None: ...

class ConformanceResult(_message.Message):
    __slots__ = ("suite_version", "measure_time", "passed", "failed", "measured_levels")
    class MeasuredLevelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: SupportLevel
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[SupportLevel, str]] = ...) -> None: ...
    SUITE_VERSION_FIELD_NUMBER: _ClassVar[int]
    MEASURE_TIME_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    MEASURED_LEVELS_FIELD_NUMBER: _ClassVar[int]
    suite_version: str
    measure_time: _timestamp_pb2.Timestamp
    passed: int
    failed: int
    measured_levels: _containers.ScalarMap[str, SupportLevel]
    def __init__(self, suite_version: _Optional[str] = ..., measure_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., passed: _Optional[int] = ..., failed: _Optional[int] = ..., measured_levels: _Optional[_Mapping[str, SupportLevel]] = ...) -> None: ...
