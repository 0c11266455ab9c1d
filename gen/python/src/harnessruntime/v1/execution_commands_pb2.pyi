import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from harnessruntime.v1 import content_pb2 as _content_pb2
from harnessruntime.v1 import execution_pb2 as _execution_pb2
from harnessruntime.v1 import input_pb2 as _input_pb2
from harnessruntime.v1 import policy_pb2 as _policy_pb2
from harnessruntime.v1 import provider_pb2 as _provider_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StartExecutionRequest(_message.Message):
    __slots__ = ("conversation_id", "provider_id", "input", "required_capabilities", "minimum_levels", "config", "grants", "budgets", "deadline_time", "timeout", "run_mode", "labels", "parent_execution_id", "action_policy", "orphan_policy", "on_conflict", "idempotency_key")
    class MinimumLevelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _provider_pb2.SupportLevel
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_provider_pb2.SupportLevel, str]] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_LEVELS_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_TIME_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    RUN_MODE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PARENT_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_POLICY_FIELD_NUMBER: _ClassVar[int]
    ORPHAN_POLICY_FIELD_NUMBER: _ClassVar[int]
    ON_CONFLICT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    conversation_id: str
    provider_id: str
    input: _content_pb2.Content
    required_capabilities: _containers.RepeatedScalarFieldContainer[str]
    minimum_levels: _containers.ScalarMap[str, _provider_pb2.SupportLevel]
    config: _struct_pb2.Struct
    grants: _policy_pb2.Grants
    budgets: _policy_pb2.Budgets
    deadline_time: _timestamp_pb2.Timestamp
    timeout: _duration_pb2.Duration
    run_mode: _policy_pb2.RunMode
    labels: _containers.ScalarMap[str, str]
    parent_execution_id: str
    action_policy: _policy_pb2.ActionPolicy
    orphan_policy: _policy_pb2.OrphanPolicy
    on_conflict: _policy_pb2.ConflictPolicy
    idempotency_key: str
    def __init__(self, conversation_id: _Optional[str] = ..., provider_id: _Optional[str] = ..., input: _Optional[_Union[_content_pb2.Content, _Mapping]] = ..., required_capabilities: _Optional[_Iterable[str]] = ..., minimum_levels: _Optional[_Mapping[str, _provider_pb2.SupportLevel]] = ..., config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., grants: _Optional[_Union[_policy_pb2.Grants, _Mapping]] = ..., budgets: _Optional[_Union[_policy_pb2.Budgets, _Mapping]] = ..., deadline_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., run_mode: _Optional[_Union[_policy_pb2.RunMode, str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., parent_execution_id: _Optional[str] = ..., action_policy: _Optional[_Union[_policy_pb2.ActionPolicy, _Mapping]] = ..., orphan_policy: _Optional[_Union[_policy_pb2.OrphanPolicy, _Mapping]] = ..., on_conflict: _Optional[_Union[_policy_pb2.ConflictPolicy, str]] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class StartExecutionResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: _execution_pb2.Execution
    def __init__(self, execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ...) -> None: ...

class CancelExecutionRequest(_message.Message):
    __slots__ = ("execution_id", "reason", "wait")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    reason: str
    wait: bool
    def __init__(self, execution_id: _Optional[str] = ..., reason: _Optional[str] = ..., wait: _Optional[bool] = ...) -> None: ...

class CancelExecutionResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: _execution_pb2.Execution
    def __init__(self, execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ...) -> None: ...

class SendInputRequest(_message.Message):
    __slots__ = ("execution_id", "input", "mode", "idempotency_key")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    input: _content_pb2.Content
    mode: _input_pb2.InputMode
    idempotency_key: str
    def __init__(self, execution_id: _Optional[str] = ..., input: _Optional[_Union[_content_pb2.Content, _Mapping]] = ..., mode: _Optional[_Union[_input_pb2.InputMode, str]] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class SendInputResponse(_message.Message):
    __slots__ = ("input_id", "sequence", "execution")
    INPUT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    input_id: str
    sequence: int
    execution: _execution_pb2.Execution
    def __init__(self, input_id: _Optional[str] = ..., sequence: _Optional[int] = ..., execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ...) -> None: ...

class WithdrawInputRequest(_message.Message):
    __slots__ = ("execution_id", "input_id")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_ID_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    input_id: str
    def __init__(self, execution_id: _Optional[str] = ..., input_id: _Optional[str] = ...) -> None: ...

class WithdrawInputResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: _execution_pb2.Execution
    def __init__(self, execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ...) -> None: ...
