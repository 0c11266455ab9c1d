package harnessprovider

import (
	"slices"

	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
)

// outbox is what one attempt sends, in order, until the runtime has it. A message is sent once a stream; after a
// reconnect all that may be lost is sent again. The connection's lock guards it.
type outbox struct {
	lastEmitID int32
	entries    []*entry
	unsent     []*entry
	closed     error
}

type entry struct {
	emitID  int32
	message *providerv1.ConnectRequest
	done    chan error // gets one value: nil once it is stored
	stored  bool
	key     string // of a question without its answer, which is sent again although it is stored
}

func (o *outbox) add(key string, message func(emitID int32) *providerv1.ConnectRequest) <-chan error {
	done := make(chan error, 1)
	if o.closed != nil {
		done <- o.closed
		return done
	}
	o.lastEmitID++
	added := &entry{emitID: o.lastEmitID, message: message(o.lastEmitID), done: done, key: key}
	o.entries = append(o.entries, added)
	o.unsent = append(o.unsent, added)
	return done
}

// next returns the next message that the current stream was not given; nil where it has them all.
func (o *outbox) next() *providerv1.ConnectRequest {
	if len(o.unsent) == 0 {
		return nil
	}
	message := o.unsent[0].message
	o.unsent = o.unsent[1:]
	return message
}

// reopen takes up a new stream: what is up to stored is stored, all else is sent again.
func (o *outbox) reopen(stored int32) {
	o.ack(stored, nil)
	o.unsent = slices.Clone(o.entries)
}

// ack says that everything up to emitID was dealt with; that one itself was refused where there is an error.
func (o *outbox) ack(emitID int32, refusal error) {
	for _, entry := range o.entries {
		if entry.emitID > emitID {
			break
		}
		var result error
		if entry.emitID == emitID && refusal != nil {
			entry.key, result = "", refusal
		}
		if !entry.stored {
			entry.stored = true
			entry.done <- result
		}
	}
	o.drop()
}

// answered says that the question asked with key has its answer, or needs none any more.
func (o *outbox) answered(key string) {
	for _, entry := range o.entries {
		if entry.key == key {
			entry.key = ""
		}
	}
	o.drop()
}

func (o *outbox) close(err error) {
	if o.closed == nil {
		o.closed = err
	}
	for _, entry := range o.entries {
		if !entry.stored {
			entry.done <- o.closed
		}
	}
	o.entries, o.unsent = nil, nil
}

func (o *outbox) drop() {
	o.entries = slices.DeleteFunc(o.entries, func(e *entry) bool { return e.stored && e.key == "" })
}
