package harnessclient

import (
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect/v2"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
	"harness-runtime.dev/gen/go/internal/rpc"
)

// Details is what the server says of an error: Reason, Metadata, Violations and RetryAfter.
type Details = rpc.Details

// Error is a call or a stream that failed, with what the server said of it in its error details.
type Error struct {
	Code    connect.Code
	Message string // for people
	Details
	cause error
}

// Error begins with the reason, or with the code where the server gave none.
func (e *Error) Error() string {
	if name := e.ReasonName(); name != "" {
		return fmt.Sprintf("%s: %s", name, e.Message)
	}
	return fmt.Sprintf("%v: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.cause }

// ContiguityError says that the log that arrived is not the log: an event is missing, or the stream went backwards.
type ContiguityError struct {
	ExecutionID        string
	Expected, Received int32
}

func (e *ContiguityError) Error() string {
	return fmt.Sprintf("the log of %s is not contiguous: expected sequence %d, received %d", e.ExecutionID, e.Expected, e.Received)
}

// ErrorFrom decodes any error of a call; nil for nil.
func ErrorFrom(err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok || err == nil {
		return known
	}
	message := err.Error()
	if failure, ok := errors.AsType[*connect.Error](err); ok {
		message = failure.Message()
	}
	return &Error{Code: connect.CodeOf(err), Message: message, Details: rpc.DetailsOf(err), cause: err}
}

// ReasonOf returns why the server refused; UNSPECIFIED when it did not say.
func ReasonOf(err error) v1.ErrorReason { return rpc.DetailsOf(err).Reason }

// passing are the server's own reasons that go away by themselves.
var passing = []v1.ErrorReason{
	v1.ErrorReason_ERROR_REASON_SEQUENCE_CONFLICT, v1.ErrorReason_ERROR_REASON_STORE_UNAVAILABLE,
	v1.ErrorReason_ERROR_REASON_SERVER_DRAINING, v1.ErrorReason_ERROR_REASON_RESUME_AFTER,
}

// lasting are the codes that stay the same however often one asks, when no reason says more.
var lasting = []connect.Code{
	connect.CodeUnimplemented, connect.CodeUnauthenticated, connect.CodePermissionDenied, connect.CodeNotFound,
	connect.CodeAlreadyExists, connect.CodeFailedPrecondition, connect.CodeOutOfRange,
}

// IsRetryable says whether the same call may succeed later, provided that sending it twice is safe. What the server
// refused is told by its reason; what has none came from the network or a proxy, where a cut shows as almost any code.
func IsRetryable(err error) bool {
	if _, ok := errors.AsType[*ContiguityError](err); ok || err == nil {
		return false
	}
	failure := ErrorFrom(err)
	if failure.Reason == v1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		return !slices.Contains(lasting, failure.Code)
	}
	return slices.Contains(passing, failure.Reason)
}
