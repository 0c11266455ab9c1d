package rpc

import (
	"errors"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

// Details is what the runtime says of an error besides its code and its message.
type Details struct {
	Reason     v1.ErrorReason                          // UNSPECIFIED when the failure is not the runtime's own
	Metadata   map[string]string                       // what the reason is about, with the contract's keys
	Violations []*errdetails.BadRequest_FieldViolation // the fields at fault; only with VALIDATION_ERROR
	RetryAfter time.Duration                           // how long the runtime asks to wait; 0 when it does not say
}

// ReasonName is the reason as the documents write it, such as "NOT_FOUND"; "" when the failure is not the runtime's own.
func (d Details) ReasonName() string { return NameOf(d.Reason) }

// NameOf is a reason as the documents write it; "" for UNSPECIFIED.
func NameOf(reason v1.ErrorReason) string {
	if reason == v1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		return ""
	}
	return strings.TrimPrefix(reason.String(), "ERROR_REASON_")
}

// DetailsOf reads those of a call's error; none of any other.
func DetailsOf(err error) (details Details) {
	if failure, ok := errors.AsType[*connect.Error](err); ok {
		for _, detail := range failure.Details() {
			message, _ := connectproto.UnmarshalErrorDetail(detail)
			details.take(message)
		}
	}
	return details
}

// DetailsOfStatus reads those of a status that came as data.
func DetailsOfStatus(status *status.Status) (details Details) {
	for _, detail := range status.GetDetails() {
		message, _ := detail.UnmarshalNew()
		details.take(message)
	}
	return details
}

func (d *Details) take(message any) {
	switch message := message.(type) {
	case *errdetails.ErrorInfo:
		if message.GetDomain() == "harnessruntime" {
			d.Reason = v1.ErrorReason(v1.ErrorReason_value["ERROR_REASON_"+message.GetReason()])
			d.Metadata = message.GetMetadata()
		}
	case *errdetails.BadRequest:
		d.Violations = message.GetFieldViolations()
	case *errdetails.RetryInfo:
		d.RetryAfter = message.GetRetryDelay().AsDuration()
	}
}
