"""What goes wrong, with what the server said of it in its error details."""

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status


class HarnessError(Exception):
    """A call or a stream that failed. `str()` begins with the reason, or with the code where the server gave none.

    `__cause__` is what gRPC raised, where the server gave no reason.
    """

    def __init__(self, message: str, code: grpc.StatusCode, status: Status | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        #: Why the server refused, such as "NOT_FOUND"; "" when the failure is not the server's own.
        self.reason = ""
        #: What the reason is about, with the contract's keys.
        self.metadata: dict[str, str] = {}
        #: The fields at fault and what is wrong with them; only with VALIDATION_ERROR.
        self.violations: list[tuple[str, str]] = []
        #: How many seconds the server asks to wait; 0 when it does not say.
        self.retry_after = 0.0
        for detail in status.details if status is not None else ():
            info, fields, retry = ErrorInfo(), BadRequest(), RetryInfo()
            if detail.Unpack(info) and info.domain == "harnessruntime":
                self.reason, self.metadata = info.reason, dict(info.metadata)
            elif detail.Unpack(fields):
                self.violations = [(field.field, field.description) for field in fields.field_violations]
            elif detail.Unpack(retry):
                self.retry_after = retry.retry_delay.ToTimedelta().total_seconds()

    def __str__(self) -> str:
        return f"{self.reason or self.code.name}: {self.message}"


class ContiguityError(Exception):
    """The log that arrived is not the log: an event is missing, or the stream went backwards."""

    def __init__(self, execution_id: str, expected: int, received: int) -> None:
        super().__init__(f"the log of {execution_id} is not contiguous: expected sequence {expected}, received {received}")
        self.execution_id, self.expected, self.received = execution_id, expected, received


def error_from(error: grpc.RpcError) -> HarnessError:
    """Decodes what gRPC raised."""
    if not isinstance(error, (grpc.Call, grpc.aio.AioRpcError)):
        return HarnessError(str(error), grpc.StatusCode.UNKNOWN)
    status = next((v for k, v in error.trailing_metadata() or () if k == "grpc-status-details-bin"), None)
    known = Status.FromString(status) if isinstance(status, bytes) else None
    failure = HarnessError(error.details() or "", error.code(), known)
    # What the server refused is said in full by then: in a traceback, the cause would bury it.
    if failure.reason:
        failure.__suppress_context__ = True
    else:
        failure.__cause__ = error
    return failure


#: The server's own reasons that go away by themselves.
_PASSING = {"SEQUENCE_CONFLICT", "STORE_UNAVAILABLE", "SERVER_DRAINING", "RESUME_AFTER"}
#: Codes that stay the same however often one asks, when no reason says more.
_LASTING = {"UNIMPLEMENTED", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "ALREADY_EXISTS"}
_LASTING |= {"FAILED_PRECONDITION", "OUT_OF_RANGE"}


def is_retryable(error: Exception) -> bool:
    """Returns whether the same call may succeed later, provided that sending it twice is safe.

    What the server refused is told by its reason; what has none came from the network or a proxy, where a cut shows as
    almost any code.
    """
    if not isinstance(error, HarnessError):
        return False
    return error.reason in _PASSING if error.reason else error.code.name not in _LASTING


def ended() -> HarnessError:
    return HarnessError("the stream ended before the execution did", grpc.StatusCode.UNAVAILABLE)


def silent() -> HarnessError:
    return HarnessError("nothing arrived for three heartbeats", grpc.StatusCode.DEADLINE_EXCEEDED)
