package harnessprovider

import (
	"context"
	"errors"
	"fmt"

	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	maxEmitBytes        = 1 << 20 // of the events of one message; it may be four times as large
	maxResumeStateBytes = 1 << 20
)

// ErrAbandoned is what a question fails with that will have no answer.
var ErrAbandoned = errors.New("the action was abandoned")

// Turn is one turn of one attempt, as its provider sees it. Its methods may be called from several goroutines.
type Turn struct {
	Execution *v1.Execution
	Attempt   int32 // from 1
	Number    int32 // of the turn, from 1
	Input     *v1.Content
	Resume    *providerv1.Resume        // what an attempt before left behind; nil on attempt 1 and on later turns
	History   []*providerv1.HistoryItem // earlier executions of the conversation that succeeded, oldest first

	attempt     *attempt
	steers      chan *v1.Content
	resumeState []byte
}

// Config returns the execution's config, after its schema was checked.
func (t *Turn) Config() map[string]any { return t.Execution.GetEffectiveConfig().AsMap() }

// Steers gives the steers of this turn as they come; it is closed when the provider has returned or must return.
func (t *Turn) Steers() <-chan *v1.Content { return t.steers }

// Text appends a part of the output and returns once it is stored.
func (t *Turn) Text(ctx context.Context, text string) error {
	delta := &v1.OutputTextDelta{Text: text}
	return t.Emit(ctx, &v1.Event{Payload: &v1.Event_OutputTextDelta{OutputTextDelta: delta}})
}

// Emit appends events in order and returns once they are stored: that is the back-pressure. A *Refused says why not.
func (t *Turn) Emit(ctx context.Context, events ...*v1.Event) error {
	return await(ctx, t.send(events, nil))
}

// Announce announces an artifact and returns once that is stored. Its id must be new in the execution.
func (t *Turn) Announce(ctx context.Context, artifact *v1.Artifact) error {
	return await(ctx, t.send(nil, []*v1.Artifact{artifact}))
}

// SaveResumeState keeps the provider's own bytes, at most 1 MiB, with the next message that is emitted.
func (t *Turn) SaveResumeState(state []byte) error {
	if len(state) > maxResumeStateBytes {
		return fmt.Errorf("the resume state is %d bytes and may be %d", len(state), maxResumeStateBytes)
	}
	t.attempt.connection.mu.Lock()
	defer t.attempt.connection.mu.Unlock()
	t.resumeState = append(make([]byte, 0, len(state)), state...)
	return nil
}

// Approve asks a person for approval. key is stable for the same question over attempts.
func (t *Turn) Approve(ctx context.Context, key, title string) (*Answer, error) {
	return t.RequestAction(ctx, key, &v1.ActionRequest{Kind: v1.ActionKind_ACTION_KIND_APPROVAL, Title: title})
}

// Ask asks a person for a value that fits a JSON Schema; nil takes any. key is stable for the same question over attempts.
func (t *Turn) Ask(ctx context.Context, key, title string, schema *structpb.Struct) (*Answer, error) {
	action := &v1.ActionRequest{Kind: v1.ActionKind_ACTION_KIND_INPUT, Title: title, InputSchema: schema}
	return t.RequestAction(ctx, key, action)
}

// RequestAction opens an action and returns its answer; it waits behind an open one. With a key that was asked before
// it opens nothing. It fails with ErrAbandoned, a *Refused or the context's own error.
func (t *Turn) RequestAction(ctx context.Context, key string, action *v1.ActionRequest) (*Answer, error) {
	waiting := t.attempt.ask(key, action)
	select {
	case <-waiting.done:
		return waiting.answer, waiting.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send adds events to the outbox, in messages of a bearable size.
func (t *Turn) send(events []*v1.Event, artifacts []*v1.Artifact) <-chan error {
	c := t.attempt.connection
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.wakeUp()
	left := maxEmitBytes
	first := 0
	for index, event := range events {
		size := proto.Size(event)
		if left -= size; left < 0 && index > first {
			t.add(events[first:index], nil, nil)
			first, left = index, maxEmitBytes-size
		}
	}
	state := t.resumeState
	t.resumeState = nil
	return t.add(events[first:], artifacts, state)
}

func (t *Turn) add(events []*v1.Event, artifacts []*v1.Artifact, state []byte) <-chan error {
	a := t.attempt
	return a.outbox.add("", func(emitID int32) *providerv1.ConnectRequest {
		emit := &providerv1.Emit{
			ExecutionId: a.executionID, Attempt: a.number, EmitId: emitID,
			Events: events, Artifacts: artifacts, ResumeState: state,
		}
		return &providerv1.ConnectRequest{Message: &providerv1.ConnectRequest_Emit{Emit: emit}}
	})
}

func await(ctx context.Context, stored <-chan error) error {
	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
