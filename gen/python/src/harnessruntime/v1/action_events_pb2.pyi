from google.protobuf import struct_pb2 as _struct_pb2
from harnessruntime.v1 import action_pb2 as _action_pb2
from harnessruntime.v1 import policy_pb2 as _policy_pb2
from harnessruntime.v1 import principal_pb2 as _principal_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ActionRequired(_message.Message):
    __slots__ = ("action",)
    ACTION_FIELD_NUMBER: _ClassVar[int]
    action: _action_pb2.ActionRequest
    def __init__(self, action: _Optional[_Union[_action_pb2.ActionRequest, _Mapping]] = ...) -> None: ...

class ActionResponded(_message.Message):
    __slots__ = ("action_id", "approved", "option_id", "responder", "value")
    ACTION_ID_FIELD_NUMBER: _ClassVar[int]
    APPROVED_FIELD_NUMBER: _ClassVar[int]
    OPTION_ID_FIELD_NUMBER: _ClassVar[int]
    RESPONDER_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    action_id: str
    approved: bool
    option_id: str
    responder: _principal_pb2.Principal
    value: _struct_pb2.Value
    def __init__(self, action_id: _Optional[str] = ..., approved: _Optional[bool] = ..., option_id: _Optional[str] = ..., responder: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...

class ActionExpired(_message.Message):
    __slots__ = ("action_id", "policy")
    ACTION_ID_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    action_id: str
    policy: _policy_pb2.ActionTimeoutPolicy
    def __init__(self, action_id: _Optional[str] = ..., policy: _Optional[_Union[_policy_pb2.ActionTimeoutPolicy, str]] = ...) -> None: ...

class ActionAbandoned(_message.Message):
    __slots__ = ("action_id", "reason")
    ACTION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    action_id: str
    reason: str
    def __init__(self, action_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
