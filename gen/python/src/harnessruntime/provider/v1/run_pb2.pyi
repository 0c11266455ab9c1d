from harnessruntime.provider.v1 import outcome_pb2 as _outcome_pb2
from harnessruntime.v1 import action_pb2 as _action_pb2
from harnessruntime.v1 import artifact_pb2 as _artifact_pb2
from harnessruntime.v1 import containment_pb2 as _containment_pb2
from harnessruntime.v1 import content_pb2 as _content_pb2
from harnessruntime.v1 import event_pb2 as _event_pb2
from harnessruntime.v1 import execution_pb2 as _execution_pb2
from harnessruntime.v1 import input_pb2 as _input_pb2
from harnessruntime.v1 import principal_pb2 as _principal_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HistoryRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HISTORY_ROLE_UNSPECIFIED: _ClassVar[HistoryRole]
    HISTORY_ROLE_USER: _ClassVar[HistoryRole]
    HISTORY_ROLE_ASSISTANT: _ClassVar[HistoryRole]
HISTORY_ROLE_UNSPECIFIED: HistoryRole
HISTORY_ROLE_USER: HistoryRole
HISTORY_ROLE_ASSISTANT: HistoryRole

class Run(_message.Message):
    __slots__ = ("execution", "attempt", "turn", "input", "history", "resume", "revision")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    execution: _execution_pb2.Execution
    attempt: int
    turn: int
    input: _content_pb2.Content
    history: _containers.RepeatedCompositeFieldContainer[HistoryItem]
    resume: Resume
    revision: int
    def __init__(self, execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ..., attempt: _Optional[int] = ..., turn: _Optional[int] = ..., input: _Optional[_Union[_content_pb2.Content, _Mapping]] = ..., history: _Optional[_Iterable[_Union[HistoryItem, _Mapping]]] = ..., resume: _Optional[_Union[Resume, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class HistoryItem(_message.Message):
    __slots__ = ("execution_id", "role", "content")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    role: HistoryRole
    content: _content_pb2.Content
    def __init__(self, execution_id: _Optional[str] = ..., role: _Optional[_Union[HistoryRole, str]] = ..., content: _Optional[_Union[_content_pb2.Content, _Mapping]] = ...) -> None: ...

class Resume(_message.Message):
    __slots__ = ("attempt", "state", "last_sequence", "answers", "inputs", "turn")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    state: bytes
    last_sequence: int
    answers: _containers.RepeatedCompositeFieldContainer[ActionAnswer]
    inputs: _containers.RepeatedCompositeFieldContainer[Input]
    turn: int
    def __init__(self, attempt: _Optional[int] = ..., state: _Optional[bytes] = ..., last_sequence: _Optional[int] = ..., answers: _Optional[_Iterable[_Union[ActionAnswer, _Mapping]]] = ..., inputs: _Optional[_Iterable[_Union[Input, _Mapping]]] = ..., turn: _Optional[int] = ...) -> None: ...

class Input(_message.Message):
    __slots__ = ("execution_id", "attempt", "turn", "input_id", "mode", "input")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    INPUT_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    turn: int
    input_id: str
    mode: _input_pb2.InputMode
    input: _content_pb2.Content
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., turn: _Optional[int] = ..., input_id: _Optional[str] = ..., mode: _Optional[_Union[_input_pb2.InputMode, str]] = ..., input: _Optional[_Union[_content_pb2.Content, _Mapping]] = ...) -> None: ...

class ActionAnswer(_message.Message):
    __slots__ = ("execution_id", "attempt", "action_id", "key", "response", "delivered", "expired", "abandoned", "responder")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ACTION_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    ABANDONED_FIELD_NUMBER: _ClassVar[int]
    RESPONDER_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    action_id: str
    key: str
    response: _action_pb2.ActionResponse
    delivered: bool
    expired: bool
    abandoned: bool
    responder: _principal_pb2.Principal
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., action_id: _Optional[str] = ..., key: _Optional[str] = ..., response: _Optional[_Union[_action_pb2.ActionResponse, _Mapping]] = ..., delivered: _Optional[bool] = ..., expired: _Optional[bool] = ..., abandoned: _Optional[bool] = ..., responder: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ...) -> None: ...

class Cancel(_message.Message):
    __slots__ = ("execution_id", "attempt", "reason")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    reason: str
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Emit(_message.Message):
    __slots__ = ("execution_id", "attempt", "emit_id", "events", "artifacts", "resume_state")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EMIT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    RESUME_STATE_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    emit_id: int
    events: _containers.RepeatedCompositeFieldContainer[_event_pb2.Event]
    artifacts: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.Artifact]
    resume_state: bytes
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., emit_id: _Optional[int] = ..., events: _Optional[_Iterable[_Union[_event_pb2.Event, _Mapping]]] = ..., artifacts: _Optional[_Iterable[_Union[_artifact_pb2.Artifact, _Mapping]]] = ..., resume_state: _Optional[bytes] = ...) -> None: ...

class RequestAction(_message.Message):
    __slots__ = ("execution_id", "attempt", "emit_id", "key", "action")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EMIT_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    emit_id: int
    key: str
    action: _action_pb2.ActionRequest
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., emit_id: _Optional[int] = ..., key: _Optional[str] = ..., action: _Optional[_Union[_action_pb2.ActionRequest, _Mapping]] = ...) -> None: ...

class Finish(_message.Message):
    __slots__ = ("execution_id", "attempt", "emit_id", "turn", "outcome")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EMIT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    emit_id: int
    turn: int
    outcome: _outcome_pb2.Outcome
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., emit_id: _Optional[int] = ..., turn: _Optional[int] = ..., outcome: _Optional[_Union[_outcome_pb2.Outcome, _Mapping]] = ...) -> None: ...

class Cancelled(_message.Message):
    __slots__ = ("execution_id", "attempt", "emit_id", "cleanup_error", "containment")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EMIT_ID_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTAINMENT_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    attempt: int
    emit_id: int
    cleanup_error: str
    containment: _containment_pb2.ContainmentReport
    def __init__(self, execution_id: _Optional[str] = ..., attempt: _Optional[int] = ..., emit_id: _Optional[int] = ..., cleanup_error: _Optional[str] = ..., containment: _Optional[_Union[_containment_pb2.ContainmentReport, _Mapping]] = ...) -> None: ...
