import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from harnessruntime.v1 import action_events_pb2 as _action_events_pb2
from harnessruntime.v1 import input_events_pb2 as _input_events_pb2
from harnessruntime.v1 import output_events_pb2 as _output_events_pb2
from harnessruntime.v1 import result_events_pb2 as _result_events_pb2
from harnessruntime.v1 import run_events_pb2 as _run_events_pb2
from harnessruntime.v1 import tool_events_pb2 as _tool_events_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Event(_message.Message):
    __slots__ = ("execution_id", "sequence", "time", "attempt", "turn", "run_queued", "run_starting", "run_started", "run_resumed", "run_cancelling", "run_completed", "run_failed", "run_cancelled", "output_text_delta", "output_text_done", "output_reasoning_delta", "tool_call_started", "tool_call_updated", "tool_call_completed", "plan_updated", "model_completed", "action_required", "action_responded", "action_expired", "action_abandoned", "input_accepted", "input_consumed", "input_dropped", "artifact_created", "completion_evaluated", "provider_event")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    RUN_QUEUED_FIELD_NUMBER: _ClassVar[int]
    RUN_STARTING_FIELD_NUMBER: _ClassVar[int]
    RUN_STARTED_FIELD_NUMBER: _ClassVar[int]
    RUN_RESUMED_FIELD_NUMBER: _ClassVar[int]
    RUN_CANCELLING_FIELD_NUMBER: _ClassVar[int]
    RUN_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    RUN_FAILED_FIELD_NUMBER: _ClassVar[int]
    RUN_CANCELLED_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TEXT_DELTA_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TEXT_DONE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_REASONING_DELTA_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_STARTED_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_UPDATED_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    PLAN_UPDATED_FIELD_NUMBER: _ClassVar[int]
    MODEL_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    ACTION_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    ACTION_RESPONDED_FIELD_NUMBER: _ClassVar[int]
    ACTION_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    ACTION_ABANDONED_FIELD_NUMBER: _ClassVar[int]
    INPUT_ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    INPUT_CONSUMED_FIELD_NUMBER: _ClassVar[int]
    INPUT_DROPPED_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_CREATED_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_EVALUATED_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_EVENT_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    sequence: int
    time: _timestamp_pb2.Timestamp
    attempt: int
    turn: int
    run_queued: _run_events_pb2.RunQueued
    run_starting: _run_events_pb2.RunStarting
    run_started: _run_events_pb2.RunStarted
    run_resumed: _run_events_pb2.RunResumed
    run_cancelling: _run_events_pb2.RunCancelling
    run_completed: _run_events_pb2.RunCompleted
    run_failed: _run_events_pb2.RunFailed
    run_cancelled: _run_events_pb2.RunCancelled
    output_text_delta: _output_events_pb2.OutputTextDelta
    output_text_done: _output_events_pb2.OutputTextDone
    output_reasoning_delta: _output_events_pb2.OutputReasoningDelta
    tool_call_started: _tool_events_pb2.ToolCallStarted
    tool_call_updated: _tool_events_pb2.ToolCallUpdated
    tool_call_completed: _tool_events_pb2.ToolCallCompleted
    plan_updated: _output_events_pb2.PlanUpdated
    model_completed: _output_events_pb2.ModelCompleted
    action_required: _action_events_pb2.ActionRequired
    action_responded: _action_events_pb2.ActionResponded
    action_expired: _action_events_pb2.ActionExpired
    action_abandoned: _action_events_pb2.ActionAbandoned
    input_accepted: _input_events_pb2.InputAccepted
    input_consumed: _input_events_pb2.InputConsumed
    input_dropped: _input_events_pb2.InputDropped
    artifact_created: _result_events_pb2.ArtifactCreated
    completion_evaluated: _result_events_pb2.CompletionEvaluated
    provider_event: _output_events_pb2.ProviderEvent
    def __init__(self, execution_id: _Optional[str] = ..., sequence: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempt: _Optional[int] = ..., turn: _Optional[int] = ..., run_queued: _Optional[_Union[_run_events_pb2.RunQueued, _Mapping]] = ..., run_starting: _Optional[_Union[_run_events_pb2.RunStarting, _Mapping]] = ..., run_started: _Optional[_Union[_run_events_pb2.RunStarted, _Mapping]] = ..., run_resumed: _Optional[_Union[_run_events_pb2.RunResumed, _Mapping]] = ..., run_cancelling: _Optional[_Union[_run_events_pb2.RunCancelling, _Mapping]] = ..., run_completed: _Optional[_Union[_run_events_pb2.RunCompleted, _Mapping]] = ..., run_failed: _Optional[_Union[_run_events_pb2.RunFailed, _Mapping]] = ..., run_cancelled: _Optional[_Union[_run_events_pb2.RunCancelled, _Mapping]] = ..., output_text_delta: _Optional[_Union[_output_events_pb2.OutputTextDelta, _Mapping]] = ..., output_text_done: _Optional[_Union[_output_events_pb2.OutputTextDone, _Mapping]] = ..., output_reasoning_delta: _Optional[_Union[_output_events_pb2.OutputReasoningDelta, _Mapping]] = ..., tool_call_started: _Optional[_Union[_tool_events_pb2.ToolCallStarted, _Mapping]] = ..., tool_call_updated: _Optional[_Union[_tool_events_pb2.ToolCallUpdated, _Mapping]] = ..., tool_call_completed: _Optional[_Union[_tool_events_pb2.ToolCallCompleted, _Mapping]] = ..., plan_updated: _Optional[_Union[_output_events_pb2.PlanUpdated, _Mapping]] = ..., model_completed: _Optional[_Union[_output_events_pb2.ModelCompleted, _Mapping]] = ..., action_required: _Optional[_Union[_action_events_pb2.ActionRequired, _Mapping]] = ..., action_responded: _Optional[_Union[_action_events_pb2.ActionResponded, _Mapping]] = ..., action_expired: _Optional[_Union[_action_events_pb2.ActionExpired, _Mapping]] = ..., action_abandoned: _Optional[_Union[_action_events_pb2.ActionAbandoned, _Mapping]] = ..., input_accepted: _Optional[_Union[_input_events_pb2.InputAccepted, _Mapping]] = ..., input_consumed: _Optional[_Union[_input_events_pb2.InputConsumed, _Mapping]] = ..., input_dropped: _Optional[_Union[_input_events_pb2.InputDropped, _Mapping]] = ..., artifact_created: _Optional[_Union[_result_events_pb2.ArtifactCreated, _Mapping]] = ..., completion_evaluated: _Optional[_Union[_result_events_pb2.CompletionEvaluated, _Mapping]] = ..., provider_event: _Optional[_Union[_output_events_pb2.ProviderEvent, _Mapping]] = ...) -> None: ...
