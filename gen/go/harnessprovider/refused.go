package harnessprovider

import (
	"fmt"
	"slices"

	"connectrpc.com/connect/v2"
	"google.golang.org/genproto/googleapis/rpc/status"
	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
	"harness-runtime.dev/gen/go/internal/rpc"
)

// Refused is something that the runtime did not take: an event, an artifact, a question, or the connection.
type Refused struct {
	Reason   v1.ErrorReason // UNSPECIFIED when it is not the runtime's own
	Message  string
	Metadata map[string]string // what the reason is about, with the contract's keys
	cause    error
}

func (r *Refused) Error() string {
	if name := rpc.NameOf(r.Reason); name != "" {
		return fmt.Sprintf("%s: %s", name, r.Message)
	}
	return r.Message
}

func (r *Refused) Unwrap() error { return r.cause }

func refusalOf(failure *status.Status) *Refused {
	details := rpc.DetailsOfStatus(failure)
	return &Refused{Reason: details.Reason, Message: failure.GetMessage(), Metadata: details.Metadata}
}

func refusalFrom(err error) *Refused {
	details := rpc.DetailsOf(err)
	return &Refused{Reason: details.Reason, Message: err.Error(), Metadata: details.Metadata, cause: err}
}

// final are the codes that no further try would mend.
var final = []connect.Code{
	connect.CodeInvalidArgument, connect.CodeFailedPrecondition, connect.CodeUnauthenticated,
	connect.CodePermissionDenied, connect.CodeUnimplemented,
}

// isFinal says whether connecting again is of no use. Credentials that were good once may be good again.
func isFinal(err error, wasRegistered bool) bool {
	if refusalFrom(err).Reason == v1.ErrorReason_ERROR_REASON_FENCED {
		return true
	}
	return !wasRegistered && slices.Contains(final, connect.CodeOf(err))
}

func (a *attempt) acknowledged(ack *providerv1.Ack) {
	if ack.GetError() == nil {
		a.ack(ack.GetEmitId(), nil)
		return
	}
	refused := refusalOf(ack.GetError())
	a.connection.options.Log.Warn("the runtime refused a message", "execution", a.executionID, "error", refused)
	if refused.Reason == v1.ErrorReason_ERROR_REASON_FENCED {
		a.drop(refused)
	} else {
		a.ack(ack.GetEmitId(), refused)
	}
}
