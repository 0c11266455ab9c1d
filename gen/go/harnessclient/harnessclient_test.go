package harnessclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectinprocess"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
	"harness-runtime.dev/gen/go/harnessruntime/v1/harnessruntimev1connect"
)

// act is what a stream does next: sends the frame, or ends with the error, or falls silent.
type act struct {
	frame  *v1.WatchEventsResponse
	err    error
	silent bool
}

// server plays streams as written, one list for each time that the log is opened, and fails calls as written.
type server struct {
	harnessruntimev1connect.UnimplementedExecutionServiceHandler
	harnessruntimev1connect.UnimplementedActionServiceHandler
	streams [][]act
	faults  []error
	slow    time.Duration // how long a call takes
	keys    []string
	mu      sync.Mutex // guards opened: a stream that the client gave up may still be ending
	opened  []int32
}

func (s *server) WatchEvents(ctx context.Context, request *v1.WatchEventsRequest, stream harnessruntimev1connect.ExecutionServiceWatchEventsServerStream) error {
	for _, act := range s.open(request.GetAfterSequence()) {
		if act.silent {
			<-ctx.Done()
			return ctx.Err()
		}
		if act.err != nil {
			return act.err
		}
		if err := stream.Send(act.frame); err != nil {
			return err
		}
	}
	return nil
}

// open returns what the stream does that is opened after a sequence.
func (s *server) open(after int32) []act {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, after)
	if len(s.opened) > len(s.streams) {
		return []act{{err: connect.NewError(connect.CodeUnavailable, "down")}}
	}
	return s.streams[len(s.opened)-1]
}

// openedAfter returns the sequences that streams were opened after.
func (s *server) openedAfter() []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.opened)
}

func (s *server) fault() error {
	time.Sleep(s.slow)
	if len(s.faults) == 0 {
		return nil
	}
	err := s.faults[0]
	s.faults = s.faults[1:]
	return err
}

func (s *server) StartExecution(_ context.Context, request *v1.StartExecutionRequest) (*v1.StartExecutionResponse, error) {
	s.keys = append(s.keys, request.GetIdempotencyKey())
	return &v1.StartExecutionResponse{Execution: &v1.Execution{Id: "exe_1"}}, s.fault()
}

func (s *server) GetExecution(_ context.Context, request *v1.GetExecutionRequest) (*v1.GetExecutionResponse, error) {
	return &v1.GetExecutionResponse{Execution: &v1.Execution{Id: request.GetExecutionId()}}, s.fault()
}

func (s *server) SendInput(_ context.Context, request *v1.SendInputRequest) (*v1.SendInputResponse, error) {
	s.keys = append(s.keys, request.GetIdempotencyKey())
	return &v1.SendInputResponse{InputId: "inp_1"}, s.fault()
}

func (s *server) RespondAction(_ context.Context, request *v1.RespondActionRequest) (*v1.RespondActionResponse, error) {
	action := &v1.ActionRequest{Id: request.GetActionId(), Approved: request.GetResponse().Approved}
	return &v1.RespondActionResponse{Action: action}, s.fault()
}

func (s *server) CancelExecution(_ context.Context, request *v1.CancelExecutionRequest) (*v1.CancelExecutionResponse, error) {
	s.keys = append(s.keys, request.GetReason())
	execution := &v1.Execution{Id: request.GetExecutionId(), State: v1.ExecutionState_EXECUTION_STATE_CANCELLING}
	return &v1.CancelExecutionResponse{Execution: execution}, s.fault()
}

func (s *server) client() *Client {
	rpc := connect.NewServer()
	harnessruntimev1connect.RegisterExecutionServiceHandler(rpc, s)
	harnessruntimev1connect.RegisterActionServiceHandler(rpc, s)
	return New(connect.NewClient(connectinprocess.New(rpc), copied))
}

// copied has each request copied as it is sent, as a network does: a server in this process may read it later.
func copied(next connect.ClientFunc) connect.ClientFunc {
	return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
		stream, err := next(ctx, spec)
		return copying{stream}, err
	}
}

type copying struct{ connect.ClientStream }

func (c copying) Send(message any) error {
	return c.ClientStream.Send(proto.Clone(message.(proto.Message)))
}

// frame holds the events from first to last of a log that has head events.
func frame(first, last, head int32, over bool) act {
	frame := &v1.WatchEventsResponse{NextAfterSequence: last, HeadSequence: head, State: v1.ExecutionState_EXECUTION_STATE_RUNNING}
	if over {
		frame.State = v1.ExecutionState_EXECUTION_STATE_SUCCEEDED
	}
	for sequence := first; sequence <= last; sequence++ {
		frame.Events = append(frame.Events, &v1.Event{ExecutionId: "exe_1", Sequence: sequence})
	}
	return act{frame: frame}
}

// skipping is the frame with other events.
func skipping(a act, sequences ...int32) act {
	a.frame.Events = nil
	for _, sequence := range sequences {
		a.frame.Events = append(a.frame.Events, &v1.Event{ExecutionId: "exe_1", Sequence: sequence})
	}
	return a
}

func cut(code connect.Code) act {
	return act{err: connect.NewError(code, "cut")}
}

func refused(code connect.Code, reason string, metadata map[string]string) *connect.Error {
	info := &errdetails.ErrorInfo{Reason: reason, Domain: "harnessruntime", Metadata: metadata}
	detail, err := connectproto.NewErrorDetail(info)
	if err != nil {
		panic(err)
	}
	return connect.NewError(code, "refused").WithDetail(detail)
}

// follow returns the sequences that were shown and the error, if any.
func follow(ctx context.Context, c *Client, request *v1.WatchEventsRequest) (sequences []int32, err error) {
	request.ExecutionId = "exe_1"
	for event, err := range c.FollowEvents(ctx, request) {
		if err != nil {
			return sequences, err
		}
		sequences = append(sequences, event.GetSequence())
	}
	return sequences, nil
}

func TestFollowEventsGoesOnAfterACut(t *testing.T) {
	resume := act{err: refused(connect.CodeUnavailable, "RESUME_AFTER", map[string]string{"after_sequence": "2"})}
	endings := map[string]act{
		"a network that is down": cut(connect.CodeUnavailable), "a broken stream": cut(connect.CodeInternal),
		"half a frame": cut(connect.CodeInvalidArgument), "an unknown failure": cut(connect.CodeUnknown),
		"a stream that a proxy reset": cut(connect.CodeCanceled), "a deadline": cut(connect.CodeDeadlineExceeded),
		"a server that drains": resume, "silence": {silent: true},
	}
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{streams: [][]act{{frame(1, 2, 5, false), ending}, {ending}, {frame(2, 5, 5, true)}}}
				sequences, err := follow(t.Context(), s.client(), &v1.WatchEventsRequest{})
				if err != nil || !slices.Equal(sequences, []int32{1, 2, 3, 4, 5}) || !slices.Equal(s.openedAfter(), []int32{0, 2, 2}) {
					t.Errorf("got %v, %v, opened after %v", sequences, err, s.openedAfter())
				}
			})
		})
	}
}

func TestFollowEventsEndsOnlyWithTheExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		filtered := &v1.WatchEventsRequest{EventTypes: []string{"run.*"}}
		s := &server{streams: [][]act{{skipping(frame(2, 7, 9, true), 2)}, {skipping(frame(8, 9, 9, true))}}}
		sequences, err := follow(t.Context(), s.client(), filtered)
		if err != nil || !slices.Equal(sequences, []int32{2}) || !slices.Equal(s.openedAfter(), []int32{0, 7}) {
			t.Errorf("got %v, %v, opened after %v", sequences, err, s.openedAfter())
		}
	})
}

func TestFollowEventsRefusesALogThatIsNotContiguous(t *testing.T) {
	logs := map[string][]act{
		"a gap after the cursor":        {frame(1, 1, 3, false), frame(3, 3, 3, true)},
		"a gap within a frame":          {skipping(frame(1, 3, 3, true), 1, 3)},
		"an event twice in a frame":     {skipping(frame(1, 2, 3, true), 1, 1)},
		"a cursor that skips events":    {skipping(frame(1, 2, 2, true))},
		"a cursor behind its events":    {skipping(frame(1, 1, 3, false), 1, 2)},
		"a head that is behind the log": {frame(1, 3, 2, true)},
	}
	for name, acts := range logs {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{streams: [][]act{acts}}
				_, err := follow(t.Context(), s.client(), &v1.WatchEventsRequest{})
				if _, ok := errors.AsType[*ContiguityError](err); !ok || len(s.openedAfter()) != 1 {
					t.Errorf("got %v after %d streams", err, len(s.openedAfter()))
				}
			})
		})
	}
}

func TestFollowEventsStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{streams: [][]act{{{err: refused(connect.CodeNotFound, "NOT_FOUND", nil)}}}}
		_, err := follow(t.Context(), s.client(), &v1.WatchEventsRequest{})
		if ReasonOf(err) != v1.ErrorReason_ERROR_REASON_NOT_FOUND || len(s.openedAfter()) != 1 {
			t.Errorf("what the server refuses: got %v after %d streams", err, len(s.openedAfter()))
		}

		start := time.Now()
		_, err = follow(t.Context(), (&server{}).client(), &v1.WatchEventsRequest{})
		if took := time.Since(start); ErrorFrom(err).Code != connect.CodeUnavailable || took > 10*time.Minute || took < 9*time.Minute {
			t.Errorf("a network that stays down: got %v after %v", err, took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = follow(ctx, (&server{streams: [][]act{{{silent: true}}}}).client(), &v1.WatchEventsRequest{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its context: got %v", err)
		}

		s = &server{streams: [][]act{{frame(1, 2, 3, false), {silent: true}}}}
		for range s.client().FollowEvents(t.Context(), &v1.WatchEventsRequest{ExecutionId: "exe_1"}) {
			break
		}
	})
}

func TestFollowEventsCountsFromTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := cut(connect.CodeUnavailable)
		s := &server{streams: [][]act{{frame(1, 1, 2, false), down}, {down}, {frame(2, 2, 2, true)}}}
		for event, err := range s.client().FollowEvents(t.Context(), &v1.WatchEventsRequest{ExecutionId: "exe_1"}) {
			if err != nil {
				t.Errorf("a reader that took long over a frame: got %v", err)
			}
			if event.GetSequence() == 1 {
				time.Sleep(time.Hour)
			}
		}
		if !slices.Equal(s.openedAfter(), []int32{0, 1, 1}) {
			t.Errorf("opened after %v", s.openedAfter())
		}
	})
}

func TestACallThatFailsLateIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{faults: []error{connect.NewError(connect.CodeUnavailable, "down")}, slow: 15 * time.Second}
		if execution, err := s.client().Get(t.Context(), "exe_1"); err != nil || execution.GetId() != "exe_1" {
			t.Errorf("got %v, %v", execution, err)
		}
	})
}

func TestCallsAreSentAgainWithTheSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := connect.NewError(connect.CodeUnavailable, "down")
		s := &server{faults: []error{down, down}}
		if execution, err := s.client().Start(t.Context(), &v1.StartExecutionRequest{}); err != nil || execution.GetId() != "exe_1" {
			t.Errorf("got %v, %v", execution, err)
		}
		s.faults = []error{down}
		if execution, err := s.client().Get(t.Context(), "exe_1"); err != nil || execution.GetId() != "exe_1" {
			t.Errorf("got %v, %v", execution, err)
		}
		s.faults = []error{down}
		if response, err := s.client().Send(t.Context(), &v1.SendInputRequest{}); err != nil || response.GetInputId() != "inp_1" {
			t.Errorf("got %v, %v", response, err)
		}
		start, send := s.keys[:3], s.keys[3:]
		if slices.Contains(s.keys, "") || len(slices.Compact(slices.Clone(start))) != 1 || len(slices.Compact(send)) != 1 || start[0] == send[0] {
			t.Errorf("got the keys %v", s.keys)
		}
	})
}

func TestWaitReturnsTheExecutionAsItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ending := []act{skipping(frame(1, 3, 9, false), 2), cut(connect.CodeUnavailable)}
		s := &server{streams: [][]act{ending, {skipping(frame(4, 9, 9, true), 9)}}}
		execution, err := s.client().Wait(t.Context(), "exe_1")
		if err != nil || execution.GetId() != "exe_1" || !slices.Equal(s.openedAfter(), []int32{0, 3}) {
			t.Errorf("got %v, %v, opened after %v", execution, err, s.openedAfter())
		}

		s = &server{streams: [][]act{{{err: refused(connect.CodeNotFound, "NOT_FOUND", nil)}}}}
		if execution, err := s.client().Wait(t.Context(), "exe_1"); execution != nil || ErrorFrom(err).Code != connect.CodeNotFound {
			t.Errorf("got %v, %v", execution, err)
		}
	})
}

func TestRespondSaysWhoWasFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := connect.NewError(connect.CodeUnavailable, "down")
		answer := &v1.ActionResponse{Approved: new(true)}
		s := &server{faults: []error{down}}
		if action, err := s.client().Respond(t.Context(), "exe_1", "act_1", answer); err != nil || !action.GetApproved() {
			t.Errorf("got %v, %v", action, err)
		}
		s.faults = []error{refused(connect.CodeFailedPrecondition, "ACTION_ALREADY_RESOLVED", map[string]string{"responder": "u"})}
		_, err := s.client().Respond(t.Context(), "exe_1", "act_1", answer)
		if ReasonOf(err) != v1.ErrorReason_ERROR_REASON_ACTION_ALREADY_RESOLVED || ErrorFrom(err).Metadata["responder"] != "u" {
			t.Errorf("got %v", err)
		}
	})
}

func TestCancelIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{faults: []error{connect.NewError(connect.CodeUnavailable, "down")}}
		execution, err := s.client().Cancel(t.Context(), "exe_1", "enough")
		if err != nil || execution.GetId() != "exe_1" || execution.GetState() != v1.ExecutionState_EXECUTION_STATE_CANCELLING {
			t.Errorf("got %v, %v", execution, err)
		}
		if !slices.Equal(s.keys, []string{"enough", "enough"}) {
			t.Errorf("sent %q", s.keys)
		}
	})
}

func TestErrorFromDecodesTheDetails(t *testing.T) {
	fields := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "mode", Description: "is required"}}}
	failure := refused(connect.CodeInvalidArgument, "VALIDATION_ERROR", map[string]string{"field": "mode"})
	for _, message := range []any{fields, &errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)}} {
		var detail *connect.ErrorDetail
		var err error
		switch message := message.(type) {
		case *errdetails.BadRequest:
			detail, err = connectproto.NewErrorDetail(message)
		case *errdetails.RetryInfo:
			detail, err = connectproto.NewErrorDetail(message)
		}
		if err != nil {
			t.Fatal(err)
		}
		failure = failure.WithDetail(detail)
	}
	got := ErrorFrom(fmt.Errorf("while sending: %w", failure))
	if got.Reason != v1.ErrorReason_ERROR_REASON_VALIDATION_ERROR || got.Metadata["field"] != "mode" ||
		len(got.Violations) != 1 || got.RetryAfter != 1500*time.Millisecond || got.Code != connect.CodeInvalidArgument {
		t.Errorf("got %+v", got)
	}
	if want := "VALIDATION_ERROR: " + got.Message; got.Error() != want {
		t.Errorf("says %q, want %q", got.Error(), want)
	}
	if !errors.Is(got, failure) || ErrorFrom(got) != got {
		t.Error("the cause is lost")
	}
}

func TestDialWithoutAURLSaysSoAtOnce(t *testing.T) {
	for _, address := range []string{"127.0.0.1:4310", "localhost:4310", "", "http://"} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, err := Dial(address, "").Wait(t.Context(), "exe_1")
			if got, want := ErrorFrom(err).Message, "baseURL: must be a URL, such as http://127.0.0.1:4310"; got != want {
				t.Errorf("%q: got %q, want %q", address, got, want)
			}
			if waited := time.Since(begun); waited > 0 {
				t.Errorf("%q: was tried again for %v", address, waited)
			}
		})
	}
}
