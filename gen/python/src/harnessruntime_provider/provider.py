"""What a provider is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union, cast

from harnessruntime.provider.v1.outcome_pb2 import Outcome
from harnessruntime.v1.errors_pb2 import FAILURE_REASON_PROVIDER_ERROR, FAILURE_REASON_PROVIDER_LOST, FailureReason
from harnessruntime.v1.provider_pb2 import TOPOLOGY_REMOTE, ProviderManifest, SupportLevel

if TYPE_CHECKING:
    from harnessruntime_provider.context import RunContext

#: The version of the protocol that this package speaks.
PROTOCOL_VERSION = "2026-09-02"

#: How far a capability may be supported.
LEVELS = ("NATIVE", "EMULATED", "DEGRADED", "UNSUPPORTED")

#: How a turn ended: an outcome, the final output, or None for the text that was emitted.
Result = Union[Outcome, str, None]


class ProviderLost(Exception):
    """Raised by a provider that cannot tell whether it applied an answer: the execution fails with PROVIDER_LOST."""


@dataclass(frozen=True)
class Provider:
    """An adapter of one harness."""

    id: str
    version: str
    #: Runs one turn. What it raises fails the execution; it is cancelled when the turn must end.
    run: Callable[[RunContext], Awaitable[Result]]
    name: str = ""
    #: The most executions at a time, at least 1.
    capacity: int = 16
    #: How far each capability is supported, by name: one of `LEVELS`. What is not listed is "UNSUPPORTED".
    capabilities: Mapping[str, str] = field(default_factory=dict)
    #: The JSON Schema of an execution's config; None takes any.
    config_schema: Mapping[str, Any] | None = None
    #: Called after a cancel, once `run` has ended; what it raises or returns is the execution's cleanup_error.
    cancel: Callable[[RunContext], Awaitable[str | None]] | None = None

    def __post_init__(self) -> None:
        for name, level in self.capabilities.items():
            if level not in LEVELS:
                *others, last = LEVELS
                raise ValueError(f'capabilities["{name}"]: must be {", ".join(others)} or {last}, not {_quoted(level)}')

    def manifest(self) -> ProviderManifest:
        """Returns what the provider says of itself."""
        manifest = ProviderManifest(
            id=self.id,
            name=self.name or self.id,
            version=self.version,
            protocol_version=PROTOCOL_VERSION,
            topologies=[TOPOLOGY_REMOTE],
            capabilities={name: _level(level) for name, level in self.capabilities.items()},
        )
        if self.config_schema is not None:
            manifest.config_schema.update(self.config_schema)
        return manifest


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _level(name: str) -> SupportLevel:
    return cast("SupportLevel", SupportLevel.Value(f"SUPPORT_LEVEL_{name}"))


def outcome_of(result: Result) -> Outcome:
    """Returns how a turn ended, as it is sent; raises TypeError where that is no outcome."""
    if isinstance(result, Outcome):
        return result
    outcome = Outcome()
    outcome.success.SetInParent()
    if isinstance(result, str):
        outcome.success.final_output = result
    elif result is not None:
        raise TypeError(f"the provider returned {type(result).__name__}, which is no outcome")
    return outcome


def failure(message: str, reason: FailureReason = FAILURE_REASON_PROVIDER_ERROR) -> Outcome:
    """Returns a failure, as it is sent."""
    outcome = Outcome()
    outcome.failure.reason = reason
    outcome.failure.message = message
    return outcome


def failure_of(error: Exception) -> Outcome:
    """Returns the failure for what a provider raised."""
    message = str(error) or type(error).__name__
    lost = isinstance(error, ProviderLost)
    return failure(message, FAILURE_REASON_PROVIDER_LOST if lost else FAILURE_REASON_PROVIDER_ERROR)
