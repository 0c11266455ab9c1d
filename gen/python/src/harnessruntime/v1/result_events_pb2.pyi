from harnessruntime.v1 import artifact_pb2 as _artifact_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CompletionAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPLETION_ACTION_UNSPECIFIED: _ClassVar[CompletionAction]
    COMPLETION_ACTION_ACCEPT: _ClassVar[CompletionAction]
    COMPLETION_ACTION_REVISE: _ClassVar[CompletionAction]
    COMPLETION_ACTION_STOP: _ClassVar[CompletionAction]
    COMPLETION_ACTION_AWAIT_INPUT: _ClassVar[CompletionAction]
COMPLETION_ACTION_UNSPECIFIED: CompletionAction
COMPLETION_ACTION_ACCEPT: CompletionAction
COMPLETION_ACTION_REVISE: CompletionAction
COMPLETION_ACTION_STOP: CompletionAction
COMPLETION_ACTION_AWAIT_INPUT: CompletionAction

class ArtifactCreated(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: _artifact_pb2.Artifact
    def __init__(self, artifact: _Optional[_Union[_artifact_pb2.Artifact, _Mapping]] = ...) -> None: ...

class CompletionEvaluated(_message.Message):
    __slots__ = ("action", "reason", "revision")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    action: CompletionAction
    reason: str
    revision: int
    def __init__(self, action: _Optional[_Union[CompletionAction, str]] = ..., reason: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...
