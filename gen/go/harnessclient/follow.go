package harnessclient

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"connectrpc.com/connect/v2"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

// FollowOptions says which events to follow.
type FollowOptions struct {
	ExecutionID   string
	AfterSequence int32    // only events after this sequence; 0 means from the first
	EventTypes    []string // only events of these dotted types, a "*" at the end matches the rest; empty means all
}

// FollowEvents yields an execution's events through the terminal one, whatever happens to the connection: each once,
// in order, none missing. It ends when the execution is terminal and everything was shown. An error is the last that is
// yielded: *ContiguityError when an event is missing, *Error when the server refuses or nothing has arrived for
// StreamGiveUp, or the context's own.
func (c *Client) FollowEvents(ctx context.Context, options FollowOptions) iter.Seq2[*v1.Event, error] {
	return func(yield func(*v1.Event, error) bool) {
		log := &log{FollowOptions: options, heard: time.Now()}
		for {
			opened := time.Now()
			err := c.followOnce(ctx, log, yield)
			if log.over {
				return
			}
			if time.Since(opened) > c.MaxDelay {
				log.failures = 0
			}
			log.failures++
			if err := c.pause(ctx, log.failures, err, log.heard.Add(c.StreamGiveUp)); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// log is how far an execution's log was followed, over all its streams.
type log struct {
	FollowOptions
	failures int       // streams in a row that were short and brought no new event
	heard    time.Time // when the last frame came
	over     bool      // the execution ended, or the reader left
}

var errEnded error = connect.NewError(connect.CodeUnavailable, "the stream ended before the execution did")
var errSilent error = connect.NewError(connect.CodeDeadlineExceeded, "nothing arrived for three heartbeats")

// followOnce follows one stream and returns why it ended. The time that the reader takes is not counted as silence.
func (c *Client) followOnce(ctx context.Context, log *log, yield func(*v1.Event, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(3*c.HeartbeatInterval, func() { cancel(errSilent) })
	defer watchdog.Stop()
	request := &v1.WatchEventsRequest{ExecutionId: log.ExecutionID, AfterSequence: log.AfterSequence, EventTypes: log.EventTypes}
	stream, err := c.Executions.WatchEvents(ctx, request)
	for err == nil && !log.over {
		var frame *v1.WatchEventsResponse
		if frame, err = stream.Receive(); err == nil {
			watchdog.Stop()
			err = log.take(frame, yield)
			watchdog.Reset(3 * c.HeartbeatInterval)
		}
	}
	switch contiguity, ok := errors.AsType[*ContiguityError](err); {
	case ok:
		return contiguity
	case context.Cause(ctx) == errSilent:
		err = errSilent
	case err == nil || errors.Is(err, io.EOF):
		err = errEnded
	}
	return ErrorFrom(err)
}

// take yields what is new in a frame and moves the cursor.
func (l *log) take(frame *v1.WatchEventsResponse, yield func(*v1.Event, error) bool) error {
	l.heard = time.Now()
	next, before := frame.GetNextAfterSequence(), int32(0)
	for _, event := range frame.GetEvents() {
		sequence := event.GetSequence()
		skips := sequence > max(before, l.AfterSequence)+1 && len(l.EventTypes) == 0
		if sequence <= before || sequence > next || skips {
			return &ContiguityError{l.ExecutionID, max(before, l.AfterSequence) + 1, sequence}
		}
		before = sequence
		if sequence <= l.AfterSequence {
			continue // was shown before
		}
		l.AfterSequence, l.failures = sequence, 0
		if !yield(event, nil) {
			l.over = true
			return nil
		}
	}
	if next > l.AfterSequence && len(l.EventTypes) == 0 {
		return &ContiguityError{l.ExecutionID, l.AfterSequence + 1, next + 1}
	}
	l.AfterSequence = max(l.AfterSequence, next)
	if frame.GetHeadSequence() < l.AfterSequence {
		return &ContiguityError{l.ExecutionID, l.AfterSequence, frame.GetHeadSequence()}
	}
	l.over = isTerminal(frame.GetState()) && l.AfterSequence == frame.GetHeadSequence()
	return nil
}

func isTerminal(state v1.ExecutionState) bool {
	return state == v1.ExecutionState_EXECUTION_STATE_SUCCEEDED || state == v1.ExecutionState_EXECUTION_STATE_FAILED ||
		state == v1.ExecutionState_EXECUTION_STATE_CANCELLED
}
