package harnessprovider

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/status"
	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

func emit(emitID int32) *providerv1.ConnectRequest {
	emit := &providerv1.Emit{EmitId: emitID}
	return &providerv1.ConnectRequest{Message: &providerv1.ConnectRequest_Emit{Emit: emit}}
}

func sent(o *outbox) (ids []int32) {
	for message := o.next(); message != nil; message = o.next() {
		ids = append(ids, message.GetEmit().GetEmitId())
	}
	return ids
}

func expect[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestAMessageIsSentOnceAStreamAndAgainUntilItIsStored(t *testing.T) {
	o := &outbox{}
	first, _, third := o.add("", emit), o.add("", emit), o.add("", emit)
	expect(t, "the first stream", sent(o), []int32{1, 2, 3})
	o.ack(1, nil)
	expect(t, "the first is stored", <-first, nil)
	o.reopen(2)
	expect(t, "the second stream", sent(o), []int32{3})
	o.ack(3, errors.New("too large"))
	expect(t, "the third is refused", (<-third).Error(), "too large")
	expect(t, "what is kept", len(o.entries), 0)
}

func TestAQuestionIsSentAgainUntilItIsAnswered(t *testing.T) {
	o := &outbox{}
	o.add("k", emit)
	o.add("", emit)
	o.ack(2, nil)
	o.reopen(2)
	expect(t, "the second stream", sent(o), []int32{1})
	o.answered("k")
	o.reopen(2)
	expect(t, "the third stream", sent(o), nil)
}

func TestACancelOfAnAttemptThatIsUnheardOfIsConfirmedAndItsRunBeginsNothing(t *testing.T) {
	ran := make(chan struct{}, 1)
	provider := &Provider{Run: func(context.Context, *Turn) (*providerv1.Outcome, error) {
		ran <- struct{}{}
		return nil, nil
	}}
	c := &Connection{
		provider: provider, attempts: map[string]*attempt{}, wake: make(chan struct{}, 1), isRegistered: true,
		cancel: func(error) {},
	}
	cancel := &providerv1.Cancel{ExecutionId: "exe_1", Attempt: 2}
	c.receive(&providerv1.ConnectResponse{Message: &providerv1.ConnectResponse_Cancel{Cancel: cancel}})
	<-c.wake
	message, _ := c.next()
	cancelled := message.GetCancelled()
	expect(t, "what is confirmed", []any{cancelled.GetExecutionId(), cancelled.GetAttempt(), cancelled.GetEmitId()}, []any{"exe_1", int32(2), int32(1)})
	run := &providerv1.Run{Execution: &v1.Execution{Id: "exe_1"}, Attempt: 2, Turn: 1}
	c.receive(&providerv1.ConnectResponse{Message: &providerv1.ConnectResponse_Run{Run: run}})
	ack := &providerv1.Ack{ExecutionId: "exe_1", Attempt: 2, EmitId: 1}
	c.receive(&providerv1.ConnectResponse{Message: &providerv1.ConnectResponse_Ack{Ack: ack}})
	expect(t, "what it has", c.Executions(), 0)
	expect(t, "turns that ran", len(ran), 0)
}

func TestAnAnswerIsNewToThisProcessUnlessAnAttemptBeforeHadIt(t *testing.T) {
	a := newAnswers([]*providerv1.ActionAnswer{{Key: "old", Delivered: true}, {Key: "lost"}})
	old, isNew := a.wait("old")
	expect(t, "an inherited answer needs no asking", isNew, false)
	expect(t, "and was handed over before", old.answer.Delivered, true)
	lost, isNew := a.wait("lost")
	expect(t, "another is asked for", isNew, true)
	// The runtime had handed it over, but the stream broke before it came: this is the first that sees it.
	a.settle(&providerv1.ActionAnswer{Key: "lost", Delivered: true})
	<-lost.done
	expect(t, "is new here", lost.answer.Delivered, false)
	again, _ := a.wait("lost")
	expect(t, "but not the second time", again.answer.Delivered, true)
}

func TestARefusalSaysItsReasonWhereItHasOne(t *testing.T) {
	refused := &Refused{Reason: v1.ErrorReason_ERROR_REASON_EVENT_TOO_LARGE, Message: "no"}
	expect(t, "with a reason", refused.Error(), "EVENT_TOO_LARGE: no")
	expect(t, "without", (&Refused{Message: "no"}).Error(), "no")
}

func TestAnErrorIsAFailureUnlessTheTurnHadToEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failure := outcomeOf(ctx, nil, errors.New("boom")).GetFailure()
	expect(t, "the message", failure.GetMessage(), "boom")
	cancel()
	expect(t, "the end", outcomeOf(ctx, nil, ctx.Err()).GetCancelled() != nil, true)
	expect(t, "no outcome", outcomeOf(ctx, nil, nil).GetSuccess() != nil, true)
}

func TestConnectWithoutAURLSaysSoAtOnce(t *testing.T) {
	_, err := Connect(&Provider{ID: "p", Version: "1"}, "127.0.0.1:4310", Options{})
	if err == nil {
		t.Fatal("it connects")
	}
	expect(t, "the error", err.Error(), "baseURL: must be a URL, such as http://127.0.0.1:4310")
}

func TestWhatTheRuntimeRefusesAndWhatFailsIsWarnedOf(t *testing.T) {
	var log strings.Builder
	handler := slog.NewTextHandler(&log, nil)
	provider := &Provider{Run: func(ctx context.Context, turn *Turn) (*providerv1.Outcome, error) {
		_, err := turn.Approve(ctx, "k", "Delete it?")
		return nil, err
	}}
	c := &Connection{
		provider: provider, attempts: map[string]*attempt{}, wake: make(chan struct{}, 1), isRegistered: true,
		options: Options{Log: slog.New(handler)},
	}
	run := &providerv1.Run{Execution: &v1.Execution{Id: "exe_1"}, Attempt: 1, Turn: 1}
	c.receive(&providerv1.ConnectResponse{Message: &providerv1.ConnectResponse_Run{Run: run}})
	<-c.wake
	refusal := &status.Status{Code: 3, Message: "needs action.approval"}
	ack := &providerv1.Ack{ExecutionId: "exe_1", Attempt: 1, EmitId: 1, Error: refusal}
	c.receive(&providerv1.ConnectResponse{Message: &providerv1.ConnectResponse_Ack{Ack: ack}})
	<-c.wake
	for _, line := range []string{
		`level=WARN msg="the runtime refused a message" execution=exe_1 error=`,
		`level=WARN msg="the provider failed" execution=exe_1 error=`,
	} {
		expect(t, line, strings.Contains(log.String(), line), true)
	}
	expect(t, "says why", strings.Count(log.String(), "needs action.approval"), 2)
}
