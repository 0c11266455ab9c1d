import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from harnessruntime.v1 import artifact_pb2 as _artifact_pb2
from harnessruntime.v1 import attach_pb2 as _attach_pb2
from harnessruntime.v1 import event_stream_pb2 as _event_stream_pb2
from harnessruntime.v1 import execution_pb2 as _execution_pb2
from harnessruntime.v1 import execution_commands_pb2 as _execution_commands_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetExecutionRequest(_message.Message):
    __slots__ = ("execution_id",)
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    def __init__(self, execution_id: _Optional[str] = ...) -> None: ...

class GetExecutionResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: _execution_pb2.Execution
    def __init__(self, execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ...) -> None: ...

class ListExecutionsRequest(_message.Message):
    __slots__ = ("conversation_id", "provider_id", "states", "labels", "parent_execution_id", "root_execution_id", "page_size", "page_token")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PARENT_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    conversation_id: str
    provider_id: str
    states: _containers.RepeatedScalarFieldContainer[_execution_pb2.ExecutionState]
    labels: _containers.ScalarMap[str, str]
    parent_execution_id: str
    root_execution_id: str
    page_size: int
    page_token: str
    def __init__(self, conversation_id: _Optional[str] = ..., provider_id: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_execution_pb2.ExecutionState, str]]] = ..., labels: _Optional[_Mapping[str, str]] = ..., parent_execution_id: _Optional[str] = ..., root_execution_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListExecutionsResponse(_message.Message):
    __slots__ = ("executions", "next_page_token")
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    executions: _containers.RepeatedCompositeFieldContainer[_execution_pb2.Execution]
    next_page_token: str
    def __init__(self, executions: _Optional[_Iterable[_Union[_execution_pb2.Execution, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WaitExecutionRequest(_message.Message):
    __slots__ = ("execution_id", "timeout")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    timeout: _duration_pb2.Duration
    def __init__(self, execution_id: _Optional[str] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitExecutionResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: _execution_pb2.Execution
    def __init__(self, execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ...) -> None: ...

class WatchExecutionsRequest(_message.Message):
    __slots__ = ("conversation_id", "provider_id", "states", "labels", "parent_execution_id", "root_execution_id")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PARENT_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    conversation_id: str
    provider_id: str
    states: _containers.RepeatedScalarFieldContainer[_execution_pb2.ExecutionState]
    labels: _containers.ScalarMap[str, str]
    parent_execution_id: str
    root_execution_id: str
    def __init__(self, conversation_id: _Optional[str] = ..., provider_id: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_execution_pb2.ExecutionState, str]]] = ..., labels: _Optional[_Mapping[str, str]] = ..., parent_execution_id: _Optional[str] = ..., root_execution_id: _Optional[str] = ...) -> None: ...

class WatchExecutionsResponse(_message.Message):
    __slots__ = ("executions", "synced", "removed_ids")
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    SYNCED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_IDS_FIELD_NUMBER: _ClassVar[int]
    executions: _containers.RepeatedCompositeFieldContainer[_execution_pb2.Execution]
    synced: bool
    removed_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, executions: _Optional[_Iterable[_Union[_execution_pb2.Execution, _Mapping]]] = ..., synced: _Optional[bool] = ..., removed_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ListArtifactsRequest(_message.Message):
    __slots__ = ("execution_id", "page_size", "page_token")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    page_size: int
    page_token: str
    def __init__(self, execution_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListArtifactsResponse(_message.Message):
    __slots__ = ("artifacts", "next_page_token")
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    artifacts: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.Artifact]
    next_page_token: str
    def __init__(self, artifacts: _Optional[_Iterable[_Union[_artifact_pb2.Artifact, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetArtifactRequest(_message.Message):
    __slots__ = ("execution_id", "artifact_id")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    artifact_id: str
    def __init__(self, execution_id: _Optional[str] = ..., artifact_id: _Optional[str] = ...) -> None: ...

class GetArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: _artifact_pb2.Artifact
    def __init__(self, artifact: _Optional[_Union[_artifact_pb2.Artifact, _Mapping]] = ...) -> None: ...
