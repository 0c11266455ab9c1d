package harnessprovider

import (
	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

// Answer is the answer to a question, or that there was none in time.
type Answer struct {
	ActionID, Key string
	Approved      bool   // for an approval; false where it expired
	OptionID      string // the chosen option; "" where none was named
	Value         any    // for an input, as plain JSON; nil where it expired
	Responder     *v1.Principal
	Expired       bool // nobody answered in time
	Delivered     bool // it was handed over before, and may have been applied: do not apply it again
}

func answerOf(message *providerv1.ActionAnswer) *Answer {
	answer := &Answer{
		ActionID: message.GetActionId(), Key: message.GetKey(),
		Approved: message.GetResponse().GetApproved(), OptionID: message.GetResponse().GetOptionId(),
		Responder: message.GetResponder(), Expired: message.GetExpired(), Delivered: message.GetDelivered(),
	}
	if value := message.GetResponse().GetValue(); value != nil {
		answer.Value = value.AsInterface()
	}
	return answer
}

// question is one that was asked; done is closed once answer or err is there.
type question struct {
	done   chan struct{}
	answer *Answer
	err    error
}

// answers are the questions of one attempt. The connection's lock guards them.
type answers struct {
	inherited, given map[string]*Answer
	asked            map[string]*question
}

func newAnswers(earlier []*providerv1.ActionAnswer) *answers {
	a := &answers{inherited: map[string]*Answer{}, given: map[string]*Answer{}, asked: map[string]*question{}}
	for _, answer := range earlier {
		if answer.GetDelivered() {
			a.inherited[answer.GetKey()] = answerOf(answer)
		}
	}
	return a
}

// wait returns what will be the answer, and whether it has to be asked for.
func (a *answers) wait(key string) (*question, bool) {
	if given, ok := a.given[key]; ok {
		again := *given
		again.Delivered = true
		return settled(&again), false
	}
	if inherited, ok := a.inherited[key]; ok {
		return settled(inherited), false
	}
	if asked, ok := a.asked[key]; ok {
		return asked, false
	}
	a.asked[key] = &question{done: make(chan struct{})}
	return a.asked[key], true
}

func settled(answer *Answer) *question {
	done := make(chan struct{})
	close(done)
	return &question{done: done, answer: answer}
}

// settle takes an answer. One that nobody waits for was handed over before.
func (a *answers) settle(message *providerv1.ActionAnswer) {
	key := message.GetKey()
	asked, ok := a.asked[key]
	if !ok {
		return
	}
	if message.GetAbandoned() {
		a.refuse(key, ErrAbandoned)
		return
	}
	// Nobody in this process has seen it yet, and no attempt before it: whatever the wire did, it is new.
	asked.answer = answerOf(message)
	_, asked.answer.Delivered = a.inherited[key]
	a.given[key] = asked.answer
	delete(a.asked, key)
	close(asked.done)
}

func (a *answers) refuse(key string, err error) {
	if asked, ok := a.asked[key]; ok {
		asked.err = err
		delete(a.asked, key)
		close(asked.done)
	}
}
