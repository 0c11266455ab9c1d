import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from harnessruntime.v1 import principal_pb2 as _principal_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ActionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_KIND_UNSPECIFIED: _ClassVar[ActionKind]
    ACTION_KIND_APPROVAL: _ClassVar[ActionKind]
    ACTION_KIND_INPUT: _ClassVar[ActionKind]

class ActionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_STATE_UNSPECIFIED: _ClassVar[ActionState]
    ACTION_STATE_PENDING: _ClassVar[ActionState]
    ACTION_STATE_RESPONDED: _ClassVar[ActionState]
    ACTION_STATE_EXPIRED: _ClassVar[ActionState]
    ACTION_STATE_ABANDONED: _ClassVar[ActionState]

class ActionOptionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_OPTION_KIND_UNSPECIFIED: _ClassVar[ActionOptionKind]
    ACTION_OPTION_KIND_ALLOW_ONCE: _ClassVar[ActionOptionKind]
    ACTION_OPTION_KIND_ALLOW_ALWAYS: _ClassVar[ActionOptionKind]
    ACTION_OPTION_KIND_REJECT_ONCE: _ClassVar[ActionOptionKind]
    ACTION_OPTION_KIND_REJECT_ALWAYS: _ClassVar[ActionOptionKind]
ACTION_KIND_UNSPECIFIED: ActionKind
ACTION_KIND_APPROVAL: ActionKind
ACTION_KIND_INPUT: ActionKind
ACTION_STATE_UNSPECIFIED: ActionState
ACTION_STATE_PENDING: ActionState
ACTION_STATE_RESPONDED: ActionState
ACTION_STATE_EXPIRED: ActionState
ACTION_STATE_ABANDONED: ActionState
ACTION_OPTION_KIND_UNSPECIFIED: ActionOptionKind
ACTION_OPTION_KIND_ALLOW_ONCE: ActionOptionKind
ACTION_OPTION_KIND_ALLOW_ALWAYS: ActionOptionKind
ACTION_OPTION_KIND_REJECT_ONCE: ActionOptionKind
ACTION_OPTION_KIND_REJECT_ALWAYS: ActionOptionKind

class ActionOption(_message.Message):
    __slots__ = ("id", "label", "kind")
    ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    id: str
    label: str
    kind: ActionOptionKind
    def __init__(self, id: _Optional[str] = ..., label: _Optional[str] = ..., kind: _Optional[_Union[ActionOptionKind, str]] = ...) -> None: ...

class ActionRequest(_message.Message):
    __slots__ = ("id", "execution_id", "kind", "title", "description", "payload", "options", "input_schema", "state", "create_time", "expire_time", "respond_time", "responder", "approved", "option_id", "provider_ref")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    RESPOND_TIME_FIELD_NUMBER: _ClassVar[int]
    RESPONDER_FIELD_NUMBER: _ClassVar[int]
    APPROVED_FIELD_NUMBER: _ClassVar[int]
    OPTION_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_REF_FIELD_NUMBER: _ClassVar[int]
    id: str
    execution_id: str
    kind: ActionKind
    title: str
    description: str
    payload: _struct_pb2.Struct
    options: _containers.RepeatedCompositeFieldContainer[ActionOption]
    input_schema: _struct_pb2.Struct
    state: ActionState
    create_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    respond_time: _timestamp_pb2.Timestamp
    responder: _principal_pb2.Principal
    approved: bool
    option_id: str
    provider_ref: str
    def __init__(self, id: _Optional[str] = ..., execution_id: _Optional[str] = ..., kind: _Optional[_Union[ActionKind, str]] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., options: _Optional[_Iterable[_Union[ActionOption, _Mapping]]] = ..., input_schema: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., state: _Optional[_Union[ActionState, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., respond_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., responder: _Optional[_Union[_principal_pb2.Principal, _Mapping]] = ..., approved: _Optional[bool] = ..., option_id: _Optional[str] = ..., provider_ref: _Optional[str] = ...) -> None: ...

class ActionResponse(_message.Message):
    __slots__ = ("approved", "option_id", "value", "metadata")
    APPROVED_FIELD_NUMBER: _ClassVar[int]
    OPTION_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    approved: bool
    option_id: str
    value: _struct_pb2.Value
    metadata: _struct_pb2.Struct
    def __init__(self, approved: _Optional[bool] = ..., option_id: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...
