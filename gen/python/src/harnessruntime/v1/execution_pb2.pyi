import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from harnessruntime.v1 import action_pb2 as _action_pb2
from harnessruntime.v1 import containment_pb2 as _containment_pb2
from harnessruntime.v1 import content_pb2 as _content_pb2
from harnessruntime.v1 import errors_pb2 as _errors_pb2
from harnessruntime.v1 import policy_pb2 as _policy_pb2
from harnessruntime.v1 import principal_pb2 as _principal_pb2
from harnessruntime.v1 import provider_pb2 as _provider_pb2
from harnessruntime.v1 import usage_pb2 as _usage_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExecutionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXECUTION_STATE_UNSPECIFIED: _ClassVar[ExecutionState]
    EXECUTION_STATE_QUEUED: _ClassVar[ExecutionState]
    EXECUTION_STATE_STARTING: _ClassVar[ExecutionState]
    EXECUTION_STATE_RUNNING: _ClassVar[ExecutionState]
    EXECUTION_STATE_AWAITING_INPUT: _ClassVar[ExecutionState]
    EXECUTION_STATE_AWAITING_APPROVAL: _ClassVar[ExecutionState]
    EXECUTION_STATE_CANCELLING: _ClassVar[ExecutionState]
    EXECUTION_STATE_SUCCEEDED: _ClassVar[ExecutionState]
    EXECUTION_STATE_FAILED: _ClassVar[ExecutionState]
    EXECUTION_STATE_CANCELLED: _ClassVar[ExecutionState]
EXECUTION_STATE_UNSPECIFIED: ExecutionState
EXECUTION_STATE_QUEUED: ExecutionState
EXECUTION_STATE_STARTING: ExecutionState
EXECUTION_STATE_RUNNING: ExecutionState
EXECUTION_STATE_AWAITING_INPUT: ExecutionState
EXECUTION_STATE_AWAITING_APPROVAL: ExecutionState
EXECUTION_STATE_CANCELLING: ExecutionState
EXECUTION_STATE_SUCCEEDED: ExecutionState
EXECUTION_STATE_FAILED: ExecutionState
EXECUTION_STATE_CANCELLED: ExecutionState

class Execution(_message.Message):
    __slots__ = ("id", "conversation_id", "provider_id", "provider_version", "state", "input", "required_capabilities", "minimum_levels", "effective_config", "labels", "run_mode", "grants", "budgets", "deadline_time", "action_policy", "orphan_policy", "parent_execution_id", "root_execution_id", "attempt", "turn", "create_time", "update_time", "start_time", "end_time", "last_sequence", "open_actions", "final_output", "final_output_truncated", "structured_output", "usage", "error", "cancel", "containment", "tenant_id", "user_id")
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
    ID_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_LEVELS_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_CONFIG_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    RUN_MODE_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_TIME_FIELD_NUMBER: _ClassVar[int]
    ACTION_POLICY_FIELD_NUMBER: _ClassVar[int]
    ORPHAN_POLICY_FIELD_NUMBER: _ClassVar[int]
    PARENT_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OPEN_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    FINAL_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FINAL_OUTPUT_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    CONTAINMENT_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    conversation_id: str
    provider_id: str
    provider_version: str
    state: ExecutionState
    input: _content_pb2.Content
    required_capabilities: _containers.RepeatedScalarFieldContainer[str]
    minimum_levels: _containers.ScalarMap[str, _provider_pb2.SupportLevel]
    effective_config: _struct_pb2.Struct
    labels: _containers.ScalarMap[str, str]
    run_mode: _policy_pb2.RunMode
    grants: _policy_pb2.Grants
    budgets: _policy_pb2.Budgets
    deadline_time: _timestamp_pb2.Timestamp
    action_policy: _policy_pb2.ActionPolicy
    orphan_policy: _policy_pb2.OrphanPolicy
    parent_execution_id: str
    root_execution_id: str
    attempt: int
    turn: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    last_sequence: int
    open_actions: _containers.RepeatedCompositeFieldContainer[_action_pb2.ActionRequest]
    final_output: str
    final_output_truncated: bool
    structured_output: _struct_pb2.Value
    usage: _usage_pb2.Usage
    error: ExecutionError
    cancel: Cancellation
    containment: _containment_pb2.ContainmentReport
    tenant_id: str
    user_id: str
    def __init__(self, id: _Optional[str] = ..., conversation_id: _Optional[str] = ..., provider_id: _Optional[str] = ..., provider_version: _Optional[str] = ..., state: _Optional[_Union[ExecutionState, str]] = ..., input: _Optional[_Union[_content_pb2.Content, _Mapping]] = ..., required_capabilities: _Optional[_Iterable[str]] = ..., minimum_levels: _Optional[_Mapping[str, _provider_pb2.SupportLevel]] = ..., effective_config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., run_mode: _Optional[_Union[_policy_pb2.RunMode, str]] = ..., grants: _Optional[_Union[_policy_pb2.Grants, _Mapping]] = ..., budgets: _Optional[_Union[_policy_pb2.Budgets, _Mapping]] = ..., deadline_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., action_policy: _Optional[_Union[_policy_pb2.ActionPolicy, _Mapping]] = ..., orphan_policy: _Optional[_Union[_policy_pb2.OrphanPolicy, _Mapping]] = ..., parent_execution_id: _Optional[str] = ..., root_execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., turn: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_sequence: _Optional[int] = ..., open_actions: _Optional[_Iterable[_Union[_action_pb2.ActionRequest, _Mapping]]] = ..., final_output: _Optional[str] = ..., final_output_truncated: _Optional[bool] = ..., structured_output: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ..., error: _Optional[_Union[ExecutionError, _Mapping]] = ..., cancel: _Optional[_Union[Cancellation, _Mapping]] = ..., containment: _Optional[_Union[_containment_pb2.ContainmentReport, _Mapping]] = ..., tenant_id: _Optional[str] = ..., user_id: _Optional[str] = ...) -> None: ...

class ExecutionError(_message.Message):
    __slots__ = ("reason", "message", "cleanup_error")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_ERROR_FIELD_NUMBER: _ClassVar[int]
    reason: _errors_pb2.FailureReason
    message: str
    cleanup_error: str
    def __init__(self, reason: _Optional[_Union[_errors_pb2.FailureReason, str]] = ..., message: _Optional[str] = ..., cleanup_error: _Optional[str] = ...) -> None: ...

class Cancellation(_message.Message):
    __slots__ = ("reason", "principal", "request_time", "cleanup_error")
    REASON_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_TIME_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_ERROR_FIELD_NUMBER: _ClassVar[int]
    reason: str
    principal: _principal_pb2.Principal
    request_time: _timestamp_pb2.Timestamp
    cleanup_error: str
    def __init__(self, reason: _Optional[str] = ..., principal: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ..., request_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cleanup_error: _Optional[str] = ...) -> None: ...
