package harnessprovider

import (
	"context"
	"errors"
	"fmt"

	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

type phase int

const (
	finished   phase = iota // a turn's end was sent, or none has begun
	running                 // the provider runs
	cancelling              // it was asked to stop
	over
)

// attempt is one attempt of one execution, over all its turns. What comes a second time, after a reconnect, changes
// nothing. The connection's lock guards it.
type attempt struct {
	connection  *Connection
	executionID string
	number      int32
	outbox      outbox
	answers     *answers
	history     []*providerv1.HistoryItem
	inputs      map[string]bool
	phase       phase
	turn        *Turn
	stop        context.CancelCauseFunc
	returned    chan struct{} // closed when the provider has returned from the turn
	steersOpen  bool
}

func newAttempt(c *Connection, run *providerv1.Run) *attempt {
	return &attempt{
		connection: c, executionID: run.GetExecution().GetId(), number: run.GetAttempt(),
		answers: newAnswers(run.GetResume().GetAnswers()), history: run.GetHistory(), inputs: map[string]bool{},
	}
}

// run begins a turn; one that began before is ignored.
func (a *attempt) run(run *providerv1.Run) {
	if a.phase != finished || (a.turn != nil && run.GetTurn() <= a.turn.Number) {
		return
	}
	ctx, stop := context.WithCancelCause(context.Background())
	a.phase, a.stop, a.returned, a.steersOpen = running, stop, make(chan struct{}), true
	a.turn = &Turn{
		Execution: run.GetExecution(), Attempt: a.number, Number: run.GetTurn(), Input: run.GetInput(),
		Resume: run.GetResume(), History: a.history, attempt: a, steers: make(chan *v1.Content, 64),
	}
	go a.call(ctx, a.turn, a.returned)
}

func (a *attempt) call(ctx context.Context, turn *Turn, returned chan struct{}) {
	outcome, err := a.protect(ctx, turn)
	if err != nil && ctx.Err() == nil {
		a.connection.options.Log.Warn("the provider failed", "execution", a.executionID, "error", err)
	}
	outcome = outcomeOf(ctx, outcome, err)
	a.connection.mu.Lock()
	defer a.connection.mu.Unlock()
	close(returned)
	a.closeSteers()
	a.stop(errors.New("the turn is over"))
	if a.phase != running {
		return
	}
	a.phase = finished
	a.outbox.add("", func(emitID int32) *providerv1.ConnectRequest {
		finish := &providerv1.Finish{
			ExecutionId: a.executionID, Attempt: a.number, EmitId: emitID,
			Turn: turn.Number, Outcome: outcome,
		}
		return &providerv1.ConnectRequest{Message: &providerv1.ConnectRequest_Finish{Finish: finish}}
	})
	a.connection.wakeUp()
}

// protect runs the provider; a panic of it fails the execution and not the process.
func (a *attempt) protect(ctx context.Context, turn *Turn) (outcome *providerv1.Outcome, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the provider panicked: %v", cause)
		}
	}()
	return a.connection.provider.Run(ctx, turn)
}

func (a *attempt) input(input *providerv1.Input) {
	if a.turn == nil || a.turn.Number != input.GetTurn() {
		return
	}
	if input.GetMode() == v1.InputMode_INPUT_MODE_REPLACE {
		a.end(errors.New("the turn was replaced by a new input"))
		return
	}
	if a.inputs[input.GetInputId()] || !a.steersOpen {
		return
	}
	a.inputs[input.GetInputId()] = true
	// At most 32 inputs of an execution wait at once: there is room, unless the provider never looks.
	select {
	case a.turn.steers <- input.GetInput():
	default:
	}
}

func (a *attempt) ask(key string, action *v1.ActionRequest) *question {
	c := a.connection
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, isNew := a.answers.wait(key)
	if !isNew {
		return waiting
	}
	sent := a.outbox.add(key, func(emitID int32) *providerv1.ConnectRequest {
		request := &providerv1.RequestAction{
			ExecutionId: a.executionID, Attempt: a.number, EmitId: emitID, Key: key, Action: action,
		}
		return &providerv1.ConnectRequest{Message: &providerv1.ConnectRequest_RequestAction{RequestAction: request}}
	})
	c.wakeUp()
	go func() {
		if err := <-sent; err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			a.answers.refuse(key, err)
		}
	}()
	return waiting
}

func (a *attempt) answer(message *providerv1.ActionAnswer) {
	a.outbox.answered(message.GetKey())
	a.answers.settle(message)
}

// cancel ends the work, then confirms it. The second time nothing happens.
func (a *attempt) cancel(reason string) {
	if a.phase == cancelling || a.phase == over {
		return
	}
	a.phase = cancelling
	a.end(fmt.Errorf("the execution was cancelled: %s", reason))
	go a.confirm(a.turn, a.returned)
}

func (a *attempt) confirm(turn *Turn, returned chan struct{}) {
	var cleanup string
	if turn != nil {
		<-returned
		if hook := a.connection.provider.Cancel; hook != nil {
			if err := hook(context.Background(), turn); err != nil {
				cleanup = err.Error()
			}
		}
	}
	a.connection.mu.Lock()
	defer a.connection.mu.Unlock()
	a.outbox.add("", func(emitID int32) *providerv1.ConnectRequest {
		cancelled := &providerv1.Cancelled{
			ExecutionId: a.executionID, Attempt: a.number, EmitId: emitID, CleanupError: cleanup,
		}
		return &providerv1.ConnectRequest{Message: &providerv1.ConnectRequest_Cancelled{Cancelled: cancelled}}
	})
	a.connection.wakeUp()
}

// ack says that everything up to emitID is stored; where that was the end of the last turn, the execution is over.
func (a *attempt) ack(emitID int32, refusal error) {
	a.outbox.ack(emitID, refusal)
	if a.phase != running && a.hasReturned() && len(a.outbox.entries) == 0 && emitID == a.outbox.lastEmitID {
		a.drop(errors.New("the execution is over"))
	}
}

func (a *attempt) hasReturned() bool {
	if a.returned == nil {
		return true
	}
	select {
	case <-a.returned:
		return true
	default:
		return false
	}
}

// drop ends it without another word: it is over, or no longer this instance's.
func (a *attempt) drop(why error) {
	if a.phase == over {
		return
	}
	a.phase = over
	a.end(why)
	a.outbox.close(why)
	a.connection.ended(a)
}

// end tells the provider that the turn must end: nobody waits for its answers any more.
func (a *attempt) end(why error) {
	for key := range a.answers.asked {
		a.outbox.answered(key)
		a.answers.refuse(key, ErrAbandoned)
	}
	if a.stop != nil {
		a.stop(why)
	}
	a.closeSteers()
}

func (a *attempt) closeSteers() {
	if a.steersOpen {
		a.steersOpen = false
		close(a.turn.steers)
	}
}
