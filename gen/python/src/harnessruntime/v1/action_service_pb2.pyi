from harnessruntime.v1 import action_pb2 as _action_pb2
from harnessruntime.v1 import execution_pb2 as _execution_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RespondActionRequest(_message.Message):
    __slots__ = ("execution_id", "action_id", "response")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_ID_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    action_id: str
    response: _action_pb2.ActionResponse
    def __init__(self, execution_id: _Optional[str] = ..., action_id: _Optional[str] = ..., response: _Optional[_Union[_action_pb2.ActionResponse, _Mapping]] = ...) -> None: ...

class RespondActionResponse(_message.Message):
    __slots__ = ("action", "execution")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    action: _action_pb2.ActionRequest
    execution: _execution_pb2.Execution
    def __init__(self, action: _Optional[_Union[_action_pb2.ActionRequest, _Mapping]] = ..., execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ...) -> None: ...

class GetActionRequest(_message.Message):
    __slots__ = ("execution_id", "action_id")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_ID_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    action_id: str
    def __init__(self, execution_id: _Optional[str] = ..., action_id: _Optional[str] = ...) -> None: ...

class GetActionResponse(_message.Message):
    __slots__ = ("action",)
    ACTION_FIELD_NUMBER: _ClassVar[int]
    action: _action_pb2.ActionRequest
    def __init__(self, action: _Optional[_Union[_action_pb2.ActionRequest, _Mapping]] = ...) -> None: ...

class ListActionsRequest(_message.Message):
    __slots__ = ("states", "kinds", "execution_id", "provider_id", "page_size", "page_token")
    STATES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[_action_pb2.ActionState]
    kinds: _containers.RepeatedScalarFieldContainer[_action_pb2.ActionKind]
    execution_id: str
    provider_id: str
    page_size: int
    page_token: str
    def __init__(self, states: _Optional[_Iterable[_Union[_action_pb2.ActionState, str]]] = ..., kinds: _Optional[_Iterable[_Union[_action_pb2.ActionKind, str]]] = ..., execution_id: _Optional[str] = ..., provider_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListActionsResponse(_message.Message):
    __slots__ = ("actions", "next_page_token")
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    actions: _containers.RepeatedCompositeFieldContainer[_action_pb2.ActionRequest]
    next_page_token: str
    def __init__(self, actions: _Optional[_Iterable[_Union[_action_pb2.ActionRequest, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchActionsRequest(_message.Message):
    __slots__ = ("states", "kinds", "execution_id", "provider_id")
    STATES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[_action_pb2.ActionState]
    kinds: _containers.RepeatedScalarFieldContainer[_action_pb2.ActionKind]
    execution_id: str
    provider_id: str
    def __init__(self, states: _Optional[_Iterable[_Union[_action_pb2.ActionState, str]]] = ..., kinds: _Optional[_Iterable[_Union[_action_pb2.ActionKind, str]]] = ..., execution_id: _Optional[str] = ..., provider_id: _Optional[str] = ...) -> None: ...

class WatchActionsResponse(_message.Message):
    __slots__ = ("actions", "synced", "removed_ids")
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    SYNCED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_IDS_FIELD_NUMBER: _ClassVar[int]
    actions: _containers.RepeatedCompositeFieldContainer[_action_pb2.ActionRequest]
    synced: bool
    removed_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, actions: _Optional[_Iterable[_Union[_action_pb2.ActionRequest, _Mapping]]] = ..., synced: _Optional[bool] = ..., removed_ids: _Optional[_Iterable[str]] = ...) -> None: ...
