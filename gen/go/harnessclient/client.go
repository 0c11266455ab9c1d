// Package harnessclient follows and commands executions of a harness runtime, whatever happens to the connection.
// It is written by hand, over the generated clients beside it.
package harnessclient

import (
	"context"
	crand "crypto/rand"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
	"harness-runtime.dev/gen/go/harnessruntime/v1/harnessruntimev1connect"
	"harness-runtime.dev/gen/go/internal/rpc"
)

// Client is a harness runtime, from afar: the contract's services, and how long to wait for them. The services'
// own calls are made once and fail with *connect.Error; the methods of Client try again and fail with *Error.
type Client struct {
	Runtime       harnessruntimev1connect.RuntimeServiceClient
	Conversations harnessruntimev1connect.ConversationServiceClient
	Executions    harnessruntimev1connect.ExecutionServiceClient
	Actions       harnessruntimev1connect.ActionServiceClient

	HeartbeatInterval time.Duration // a stream silent for three of these is opened again: 10 s, as the server's
	BaseDelay         time.Duration // the first wait is between 0 and this, each further one up to twice as long: 100 ms
	MaxDelay          time.Duration // no wait is longer, unless the server asks for more: 5 s
	CallTimeout       time.Duration // how long one try of a call may take: 30 s
	CallGiveUp        time.Duration // a call is not tried again later than this after it first failed: 10 s
	StreamGiveUp      time.Duration // a stream fails this long after it first failed with nothing arriving in between: 10 min
}

// New makes a client of a transport and interceptors of the caller's own. Over Connect, unlike gRPC, a refusal whose body is
// cut has the code of its HTTP status and no reason (UNIMPLEMENTED for 404), and is not tried again.
func New(client *connect.Client) *Client {
	return &Client{
		Runtime:           harnessruntimev1connect.NewRuntimeServiceClient(client),
		Conversations:     harnessruntimev1connect.NewConversationServiceClient(client),
		Executions:        harnessruntimev1connect.NewExecutionServiceClient(client),
		Actions:           harnessruntimev1connect.NewActionServiceClient(client),
		HeartbeatInterval: 10 * time.Second,
		BaseDelay:         100 * time.Millisecond,
		MaxDelay:          5 * time.Second,
		CallTimeout:       30 * time.Second,
		CallGiveUp:        10 * time.Second,
		StreamGiveUp:      10 * time.Minute,
	}
}

// Dial makes a client that speaks gRPC over HTTP/2 to baseURL, such as "http://127.0.0.1:4310", without TLS by prior
// knowledge. token is the bearer token; "" sends none. It connects with the first call, and pings a connection that is
// silent for 20 s. Where baseURL is no URL, every call fails at once.
func Dial(baseURL, token string) *Client { return New(rpc.Dial(baseURL, token)) }

// Start starts an execution. A request without an idempotency key gets one, so that it is sent again safely.
func (c *Client) Start(ctx context.Context, request *v1.StartExecutionRequest) (*v1.Execution, error) {
	response, err := patiently(ctx, c, c.Executions.StartExecution, keyed(request))
	return response.GetExecution(), err
}

// Get returns an execution as it stands.
func (c *Client) Get(ctx context.Context, executionID string) (*v1.Execution, error) {
	response, err := patiently(ctx, c, c.Executions.GetExecution, &v1.GetExecutionRequest{ExecutionId: executionID})
	return response.GetExecution(), err
}

// Wait waits for an execution's end, for as long as that takes, and returns it as it ended: look at its state. It fails as
// FollowEvents does.
func (c *Client) Wait(ctx context.Context, executionID string) (*v1.Execution, error) {
	for _, err := range c.FollowEvents(ctx, &v1.WatchEventsRequest{ExecutionId: executionID, EventTypes: []string{"run.*"}}) {
		if err != nil {
			return nil, err
		}
	}
	return c.Get(ctx, executionID)
}

// Send sends an input. A request without an idempotency key gets one, so that the input is accepted once.
func (c *Client) Send(ctx context.Context, request *v1.SendInputRequest) (*v1.SendInputResponse, error) {
	return patiently(ctx, c, c.Executions.SendInput, keyed(request))
}

// Cancel asks for an execution's end and returns it: CANCELLING, or as it ended. The first reason counts. Wait returns
// once the native work has ended.
func (c *Client) Cancel(ctx context.Context, executionID, reason string) (*v1.Execution, error) {
	request := &v1.CancelExecutionRequest{ExecutionId: executionID, Reason: reason}
	response, err := patiently(ctx, c, c.Executions.CancelExecution, request)
	return response.GetExecution(), err
}

// Respond answers an action and returns it, answered. Exactly one answer is ever accepted: ACTION_ALREADY_RESOLVED after
// a failure of the network may speak of this very answer.
func (c *Client) Respond(ctx context.Context, executionID, actionID string, answer *v1.ActionResponse) (*v1.ActionRequest, error) {
	request := &v1.RespondActionRequest{ExecutionId: executionID, ActionId: actionID, Response: answer}
	response, err := patiently(ctx, c, c.Actions.RespondAction, request)
	return response.GetAction(), err
}

// keyed is the request with an idempotency key; the caller's own message stays as it is.
func keyed[T proto.Message](request T) T {
	field := request.ProtoReflect().Descriptor().Fields().ByName("idempotency_key")
	if !request.ProtoReflect().Has(field) {
		request = proto.CloneOf(request)
		request.ProtoReflect().Set(field, protoreflect.ValueOfString(crand.Text()))
	}
	return request
}

// patiently makes a call that is safe to make twice, again and again while it fails in a way that may pass.
func patiently[I, O any](ctx context.Context, c *Client, call func(context.Context, I) (O, error), request I) (O, error) {
	var failing time.Time
	for failures := 1; ; failures++ {
		try, cancel := context.WithTimeout(ctx, c.CallTimeout)
		response, err := call(try, request)
		cancel()
		if err == nil {
			return response, nil
		}
		if failures == 1 {
			failing = time.Now()
		}
		if err := c.pause(ctx, failures, ErrorFrom(err), failing.Add(c.CallGiveUp)); err != nil {
			return response, err
		}
	}
}

// pause waits before the next try, or returns why there is none. The wait has full jitter, so that clients cut at the
// same moment do not come back at the same moment.
func (c *Client) pause(ctx context.Context, failures int, err error, deadline time.Time) error {
	delay := ErrorFrom(err).RetryAfter + rand.N(min(c.MaxDelay, c.BaseDelay<<min(failures-1, 20))+1)
	if ctx.Err() == nil && (!IsRetryable(err) || time.Now().Add(delay).After(deadline)) {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(delay):
		return nil
	}
}
