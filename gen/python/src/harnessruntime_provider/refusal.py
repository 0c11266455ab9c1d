"""What the runtime refuses, with what it said of it in its error details."""

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status


class Refused(Exception):
    """Something that the runtime did not take: an event, an artifact, a question, or the connection."""

    def __init__(self, message: str, reason: str = "", metadata: dict[str, str] | None = None) -> None:
        super().__init__(f"{reason}: {message}" if reason else message)
        self.message = message
        #: Why, such as "EVENT_TOO_LARGE"; "" where it is not the runtime's own.
        self.reason = reason
        #: What the reason is about, with the contract's keys.
        self.metadata = metadata or {}


def refusal_of(status: Status) -> Refused:
    """Returns the error that a status stands for."""
    for detail in status.details:
        info = ErrorInfo()
        if detail.Unpack(info) and info.domain == "harnessruntime":
            return Refused(status.message, info.reason, dict(info.metadata))
    return Refused(status.message)


def refusal_from(error: grpc.aio.AioRpcError) -> Refused:
    """Returns what ended a stream."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            return refusal_of(Status.FromString(value))
    return Refused(error.details() or error.code().name)


#: What no further try would mend.
_FINAL = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNIMPLEMENTED,
}


def is_final(error: grpc.aio.AioRpcError, was_registered: bool) -> bool:
    """Returns whether connecting again is of no use. Credentials that were good once may be good again."""
    if refusal_from(error).reason == "FENCED":
        return True
    return not was_registered and error.code() in _FINAL
