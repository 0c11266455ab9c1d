from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class InputMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INPUT_MODE_UNSPECIFIED: _ClassVar[InputMode]
    INPUT_MODE_FOLLOW_UP: _ClassVar[InputMode]
    INPUT_MODE_STEER: _ClassVar[InputMode]
    INPUT_MODE_REPLACE: _ClassVar[InputMode]

class InputDropReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INPUT_DROP_REASON_UNSPECIFIED: _ClassVar[InputDropReason]
    INPUT_DROP_REASON_WITHDRAWN: _ClassVar[InputDropReason]
    INPUT_DROP_REASON_SUPERSEDED: _ClassVar[InputDropReason]
    INPUT_DROP_REASON_EXECUTION_ENDED: _ClassVar[InputDropReason]
INPUT_MODE_UNSPECIFIED: InputMode
INPUT_MODE_FOLLOW_UP: InputMode
INPUT_MODE_STEER: InputMode
INPUT_MODE_REPLACE: InputMode
INPUT_DROP_REASON_UNSPECIFIED: InputDropReason
INPUT_DROP_REASON_WITHDRAWN: InputDropReason
INPUT_DROP_REASON_SUPERSEDED: InputDropReason
INPUT_DROP_REASON_EXECUTION_ENDED: InputDropReason
