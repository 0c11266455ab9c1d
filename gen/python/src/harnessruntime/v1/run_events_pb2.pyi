from google.protobuf import struct_pb2 as _struct_pb2
from harnessruntime.v1 import containment_pb2 as _containment_pb2
from harnessruntime.v1 import errors_pb2 as _errors_pb2
from harnessruntime.v1 import execution_pb2 as _execution_pb2
from harnessruntime.v1 import principal_pb2 as _principal_pb2
from harnessruntime.v1 import usage_pb2 as _usage_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunQueued(_message.Message):
    __slots__ = ("provider_id", "request_digest")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    request_digest: str
    def __init__(self, provider_id: _Optional[str] = ..., request_digest: _Optional[str] = ...) -> None: ...

class RunStarting(_message.Message):
    __slots__ = ("provider_id", "attempt", "node")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    attempt: int
    node: str
    def __init__(self, provider_id: _Optional[str] = ..., attempt: _Optional[int] = ..., node: _Optional[str] = ...) -> None: ...

class RunStarted(_message.Message):
    __slots__ = ("provider_id", "attempt", "node")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    attempt: int
    node: str
    def __init__(self, provider_id: _Optional[str] = ..., attempt: _Optional[int] = ..., node: _Optional[str] = ...) -> None: ...

class RunResumed(_message.Message):
    __slots__ = ("attempt", "node", "previous_failure")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FAILURE_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    node: str
    previous_failure: _execution_pb2.ExecutionError
    def __init__(self, attempt: _Optional[int] = ..., node: _Optional[str] = ..., previous_failure: _Optional[_Union[_execution_pb2.ExecutionError, _Mapping]] = ...) -> None: ...

class RunCancelling(_message.Message):
    __slots__ = ("reason", "principal")
    REASON_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    reason: str
    principal: _principal_pb2.Principal
    def __init__(self, reason: _Optional[str] = ..., principal: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ...) -> None: ...

class RunCompleted(_message.Message):
    __slots__ = ("final_output", "final_output_truncated", "structured_output", "usage")
    FINAL_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FINAL_OUTPUT_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    final_output: str
    final_output_truncated: bool
    structured_output: _struct_pb2.Value
    usage: _usage_pb2.Usage
    def __init__(self, final_output: _Optional[str] = ..., final_output_truncated: _Optional[bool] = ..., structured_output: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ...) -> None: ...

class RunFailed(_message.Message):
    __slots__ = ("reason", "message", "partial_output", "cleanup_error", "containment", "usage")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTAINMENT_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    reason: _errors_pb2.FailureReason
    message: str
    partial_output: str
    cleanup_error: str
    containment: _containment_pb2.ContainmentReport
    usage: _usage_pb2.Usage
    def __init__(self, reason: _Optional[_Union[_errors_pb2.FailureReason, str]] = ..., message: _Optional[str] = ..., partial_output: _Optional[str] = ..., cleanup_error: _Optional[str] = ..., containment: _Optional[_Union[_containment_pb2.ContainmentReport, _Mapping]] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ...) -> None: ...

class RunCancelled(_message.Message):
    __slots__ = ("reason", "cleanup_error", "containment", "usage")
    REASON_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTAINMENT_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    reason: str
    cleanup_error: str
    containment: _containment_pb2.ContainmentReport
    usage: _usage_pb2.Usage
    def __init__(self, reason: _Optional[str] = ..., cleanup_error: _Optional[str] = ..., containment: _Optional[_Union[_containment_pb2.ContainmentReport, _Mapping]] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ...) -> None: ...
