from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Containment(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTAINMENT_UNSPECIFIED: _ClassVar[Containment]
    CONTAINMENT_FULL: _ClassVar[Containment]
    CONTAINMENT_MARKED: _ClassVar[Containment]
    CONTAINMENT_BEST_EFFORT: _ClassVar[Containment]
CONTAINMENT_UNSPECIFIED: Containment
CONTAINMENT_FULL: Containment
CONTAINMENT_MARKED: Containment
CONTAINMENT_BEST_EFFORT: Containment

class ContainmentReport(_message.Message):
    __slots__ = ("level", "escaped")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    ESCAPED_FIELD_NUMBER: _ClassVar[int]
    level: Containment
    escaped: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, level: _Optional[_Union[Containment, str]] = ..., escaped: _Optional[_Iterable[str]] = ...) -> None: ...
