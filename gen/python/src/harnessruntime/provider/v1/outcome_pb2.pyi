from google.protobuf import struct_pb2 as _struct_pb2
from harnessruntime.v1 import action_pb2 as _action_pb2
from harnessruntime.v1 import errors_pb2 as _errors_pb2
from harnessruntime.v1 import result_events_pb2 as _result_events_pb2
from harnessruntime.v1 import usage_pb2 as _usage_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Outcome(_message.Message):
    __slots__ = ("success", "failure", "cancelled", "await_input")
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    AWAIT_INPUT_FIELD_NUMBER: _ClassVar[int]
    success: TurnSuccess
    failure: TurnFailure
    cancelled: TurnCancelled
    await_input: TurnAwaitInput
    def __init__(self, success: _Optional[_Union[TurnSuccess, _Mapping]] = ..., failure: _Optional[_Union[TurnFailure, _Mapping]] = ..., cancelled: _Optional[_Union[TurnCancelled, _Mapping]] = ..., await_input: _Optional[_Union[TurnAwaitInput, _Mapping]] = ...) -> None: ...

class TurnSuccess(_message.Message):
    __slots__ = ("final_output", "structured_output", "usage", "evaluation")
    FINAL_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    final_output: str
    structured_output: _struct_pb2.Value
    usage: _usage_pb2.Usage
    evaluation: TurnEvaluation
    def __init__(self, final_output: _Optional[str] = ..., structured_output: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ..., evaluation: _Optional[_Union[TurnEvaluation, _Mapping]] = ...) -> None: ...

class TurnEvaluation(_message.Message):
    __slots__ = ("action", "reason", "instruction")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTION_FIELD_NUMBER: _ClassVar[int]
    action: _result_events_pb2.CompletionAction
    reason: str
    instruction: str
    def __init__(self, action: _Optional[_Union[_result_events_pb2.CompletionAction, str]] = ..., reason: _Optional[str] = ..., instruction: _Optional[str] = ...) -> None: ...

class TurnFailure(_message.Message):
    __slots__ = ("reason", "message", "usage")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    reason: _errors_pb2.FailureReason
    message: str
    usage: _usage_pb2.Usage
    def __init__(self, reason: _Optional[_Union[_errors_pb2.FailureReason, str]] = ..., message: _Optional[str] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ...) -> None: ...

class TurnCancelled(_message.Message):
    __slots__ = ("usage",)
    USAGE_FIELD_NUMBER: _ClassVar[int]
    usage: _usage_pb2.Usage
    def __init__(self, usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ...) -> None: ...

class TurnAwaitInput(_message.Message):
    __slots__ = ("key", "action", "usage")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    key: str
    action: _action_pb2.ActionRequest
    usage: _usage_pb2.Usage
    def __init__(self, key: _Optional[str] = ..., action: _Optional[_Union[_action_pb2.ActionRequest, _Mapping]] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ...) -> None: ...
