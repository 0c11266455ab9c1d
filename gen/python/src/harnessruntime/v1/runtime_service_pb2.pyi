import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from harnessruntime.v1 import provider_pb2 as _provider_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeRuntimeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeRuntimeResponse(_message.Message):
    __slots__ = ("name", "version", "protocol_version", "providers", "limits")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    protocol_version: str
    providers: _containers.RepeatedCompositeFieldContainer[_provider_pb2.ProviderManifest]
    limits: RuntimeLimits
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., protocol_version: _Optional[str] = ..., providers: _Optional[_Iterable[_Union[_provider_pb2.ProviderManifest, _Mapping]]] = ..., limits: _Optional[_Union[RuntimeLimits, _Mapping]] = ...) -> None: ...

class RuntimeLimits(_message.Message):
    __slots__ = ("max_event_bytes", "max_request_bytes", "max_page_size", "max_queued_inputs", "heartbeat_interval")
    MAX_EVENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_REQUEST_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_INPUTS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    max_event_bytes: int
    max_request_bytes: int
    max_page_size: int
    max_queued_inputs: int
    heartbeat_interval: _duration_pb2.Duration
    def __init__(self, max_event_bytes: _Optional[int] = ..., max_request_bytes: _Optional[int] = ..., max_page_size: _Optional[int] = ..., max_queued_inputs: _Optional[int] = ..., heartbeat_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ListProvidersRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListProvidersResponse(_message.Message):
    __slots__ = ("providers", "next_page_token")
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    providers: _containers.RepeatedCompositeFieldContainer[_provider_pb2.Provider]
    next_page_token: str
    def __init__(self, providers: _Optional[_Iterable[_Union[_provider_pb2.Provider, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetProviderRequest(_message.Message):
    __slots__ = ("provider_id",)
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    def __init__(self, provider_id: _Optional[str] = ...) -> None: ...

class GetProviderResponse(_message.Message):
    __slots__ = ("provider",)
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    provider: _provider_pb2.Provider
    def __init__(self, provider: _Optional[_Union[_provider_pb2.Provider, _Mapping]] = ...) -> None: ...
