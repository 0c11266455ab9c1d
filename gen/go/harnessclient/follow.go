package harnessclient

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

// FollowEvents yields the events that the request names through the terminal one, whatever happens to the connection: each
// once, in order, none missing. It ends when the execution is terminal and everything was shown. An error is the last that
// is yielded: *ContiguityError when an event is missing, *Error when the server refuses or it has failed for StreamGiveUp
// with nothing arriving in between, or the context's own.
func (c *Client) FollowEvents(ctx context.Context, request *v1.WatchEventsRequest) iter.Seq2[*v1.Event, error] {
	return func(yield func(*v1.Event, error) bool) {
		log := &log{request: proto.CloneOf(request)}
		for failures := 1; ; failures++ { // in a row, of streams that were short and brought nothing new
			opened, before := time.Now(), log.request.AfterSequence
			err := c.followOnce(ctx, log, yield)
			if log.over {
				return
			}
			if log.request.AfterSequence > before || time.Since(opened) > c.MaxDelay {
				failures = 1
			}
			if log.failing.IsZero() {
				log.failing = time.Now()
			}
			if err := c.pause(ctx, failures, err, log.failing.Add(c.StreamGiveUp)); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// log is how far an execution's log was followed, over all its streams.
type log struct {
	request *v1.WatchEventsRequest // opens the next stream
	failing time.Time              // when it first failed after the last frame, which a reader may be long over; or zero
	over    bool                   // the execution ended, or the reader left
}

var errEnded = &Error{Code: connect.CodeUnavailable, Message: "the stream ended before the execution did"}
var errSilent = &Error{Code: connect.CodeDeadlineExceeded, Message: "nothing arrived for three heartbeats"}

// followOnce follows one stream and returns why it ended. The time that the reader takes is not counted as silence.
func (c *Client) followOnce(ctx context.Context, log *log, yield func(*v1.Event, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(3*c.HeartbeatInterval, func() { cancel(errSilent) })
	defer watchdog.Stop()
	stream, err := c.Executions.WatchEvents(ctx, log.request)
	for err == nil {
		var frame *v1.WatchEventsResponse
		if frame, err = stream.Receive(); err != nil {
			break
		}
		watchdog.Stop()
		if err := log.take(frame, yield); err != nil || log.over {
			return err
		}
		watchdog.Reset(3 * c.HeartbeatInterval)
	}
	if context.Cause(ctx) == errSilent {
		return errSilent
	}
	if errors.Is(err, io.EOF) {
		return errEnded
	}
	return ErrorFrom(err)
}

// take yields what is new in a frame and moves the cursor.
func (l *log) take(frame *v1.WatchEventsResponse, yield func(*v1.Event, error) bool) error {
	l.failing = time.Time{}
	id, isWhole, cursor := l.request.GetExecutionId(), len(l.request.EventTypes) == 0, &l.request.AfterSequence
	head, next, before := frame.GetHeadSequence(), frame.GetNextAfterSequence(), int32(0)
	for _, event := range frame.GetEvents() {
		sequence, expected := event.GetSequence(), max(before, *cursor)+1
		if sequence <= before || sequence > next || isWhole && sequence > expected {
			return &ContiguityError{id, expected, sequence}
		}
		before = sequence
		if sequence >= expected { // was not shown before
			*cursor = sequence
			if l.over = !yield(event, nil); l.over {
				return nil
			}
		}
	}
	if isWhole && next > *cursor {
		return &ContiguityError{id, *cursor + 1, next + 1}
	}
	*cursor = max(*cursor, next)
	if head < *cursor {
		return &ContiguityError{id, *cursor, head}
	}
	switch frame.GetState() {
	case v1.ExecutionState_EXECUTION_STATE_SUCCEEDED, v1.ExecutionState_EXECUTION_STATE_FAILED, v1.ExecutionState_EXECUTION_STATE_CANCELLED:
		l.over = *cursor == head
	}
	return nil
}
