import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_MODE_UNSPECIFIED: _ClassVar[RunMode]
    RUN_MODE_EXECUTE: _ClassVar[RunMode]
    RUN_MODE_PLAN: _ClassVar[RunMode]

class ActionTimeoutPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_TIMEOUT_POLICY_UNSPECIFIED: _ClassVar[ActionTimeoutPolicy]
    ACTION_TIMEOUT_POLICY_DENY: _ClassVar[ActionTimeoutPolicy]
    ACTION_TIMEOUT_POLICY_FAIL: _ClassVar[ActionTimeoutPolicy]
    ACTION_TIMEOUT_POLICY_CANCEL: _ClassVar[ActionTimeoutPolicy]

class ConflictPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFLICT_POLICY_UNSPECIFIED: _ClassVar[ConflictPolicy]
    CONFLICT_POLICY_QUEUE: _ClassVar[ConflictPolicy]
    CONFLICT_POLICY_REFUSE: _ClassVar[ConflictPolicy]
RUN_MODE_UNSPECIFIED: RunMode
RUN_MODE_EXECUTE: RunMode
RUN_MODE_PLAN: RunMode
ACTION_TIMEOUT_POLICY_UNSPECIFIED: ActionTimeoutPolicy
ACTION_TIMEOUT_POLICY_DENY: ActionTimeoutPolicy
ACTION_TIMEOUT_POLICY_FAIL: ActionTimeoutPolicy
ACTION_TIMEOUT_POLICY_CANCEL: ActionTimeoutPolicy
CONFLICT_POLICY_UNSPECIFIED: ConflictPolicy
CONFLICT_POLICY_QUEUE: ConflictPolicy
CONFLICT_POLICY_REFUSE: ConflictPolicy

class Grants(_message.Message):
    __slots__ = ("tool_ids", "required_tool_ids", "model_roles")
    TOOL_IDS_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_TOOL_IDS_FIELD_NUMBER: _ClassVar[int]
    MODEL_ROLES_FIELD_NUMBER: _ClassVar[int]
    tool_ids: _containers.RepeatedScalarFieldContainer[str]
    required_tool_ids: _containers.RepeatedScalarFieldContainer[str]
    model_roles: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tool_ids: _Optional[_Iterable[str]] = ..., required_tool_ids: _Optional[_Iterable[str]] = ..., model_roles: _Optional[_Iterable[str]] = ...) -> None: ...

class Budgets(_message.Message):
    __slots__ = ("max_model_calls", "max_tool_calls", "max_tokens", "max_revisions")
    MAX_MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    max_model_calls: int
    max_tool_calls: int
    max_tokens: int
    max_revisions: int
    def __init__(self, max_model_calls: _Optional[int] = ..., max_tool_calls: _Optional[int] = ..., max_tokens: _Optional[int] = ..., max_revisions: _Optional[int] = ...) -> None: ...

class ActionPolicy(_message.Message):
    __slots__ = ("timeout", "on_timeout")
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    ON_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    timeout: _duration_pb2.Duration
    on_timeout: ActionTimeoutPolicy
    def __init__(self, timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., on_timeout: _Optional[_Union[ActionTimeoutPolicy, str]] = ...) -> None: ...

class OrphanPolicy(_message.Message):
    __slots__ = ("cancel_after",)
    CANCEL_AFTER_FIELD_NUMBER: _ClassVar[int]
    cancel_after: _duration_pb2.Duration
    def __init__(self, cancel_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
