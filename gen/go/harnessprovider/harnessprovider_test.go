package harnessprovider

import (
	"context"
	"errors"
	"reflect"
	"testing"

	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
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

func TestAnErrorIsAFailureUnlessTheTurnHadToEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failure := outcomeOf(ctx, nil, errors.New("boom")).GetFailure()
	expect(t, "the message", failure.GetMessage(), "boom")
	cancel()
	expect(t, "the end", outcomeOf(ctx, nil, ctx.Err()).GetCancelled() != nil, true)
	expect(t, "no outcome", outcomeOf(ctx, nil, nil).GetSuccess() != nil, true)
}
