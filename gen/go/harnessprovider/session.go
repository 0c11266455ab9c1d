package harnessprovider

import (
	"context"
	"errors"
	"io"
	"time"

	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	"harness-runtime.dev/gen/go/harnessruntime/provider/v1/providerv1connect"

	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	silentIntervals = 3 // so many heartbeat intervals without a word, and the runtime is taken for gone
	registerTimeout = 30 * time.Second
)

var errSilent = errors.New("the runtime says nothing more")

// live runs one stream, from register to its end, and returns why it ended.
func (c *Connection) live(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := c.client.Connect(ctx)
	if err != nil {
		return err
	}
	silence := time.AfterFunc(registerTimeout, func() { cancel(errSilent) })
	defer silence.Stop()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if err := c.write(ctx, stream); err != nil {
			cancel(err)
		}
	}()
	err = c.read(stream, silence)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(err)
	<-sent
	return err
}

func (c *Connection) read(stream providerv1connect.ProviderServiceConnectClientStream, silence *time.Timer) error {
	for {
		response, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.receive(response)
		c.mu.Lock()
		silence.Reset(silentIntervals * c.heartbeat)
		c.mu.Unlock()
	}
}

// write sends what there is, and a heartbeat where there is nothing for too long.
func (c *Connection) write(ctx context.Context, stream providerv1connect.ProviderServiceConnectClientStream) error {
	if err := stream.Send(c.register()); err != nil {
		return err
	}
	for {
		message, heartbeat := c.next()
		if message == nil {
			select {
			case <-ctx.Done():
				return nil
			case <-c.wake:
				continue
			case <-time.After(heartbeat):
				beat := &providerv1.Heartbeat{Time: timestamppb.Now()}
				message = &providerv1.ConnectRequest{Message: &providerv1.ConnectRequest_Heartbeat{Heartbeat: beat}}
			}
		}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
}

func (c *Connection) register() *providerv1.ConnectRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isRegistered = false
	register := &providerv1.Register{Manifest: c.manifest, InstanceId: c.InstanceID, Capacity: c.provider.capacity()}
	for _, attempt := range c.attempts {
		register.Executions = append(register.Executions, &providerv1.HeldExecution{
			ExecutionId: attempt.executionID, Attempt: attempt.number, LastEmitId: attempt.outbox.lastEmitID,
		})
	}
	return &providerv1.ConnectRequest{Message: &providerv1.ConnectRequest_Register{Register: register}}
}

// next returns the next message of any attempt, each in its turn, and how long to wait where there is none.
func (c *Connection) next() (*providerv1.ConnectRequest, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isRegistered {
		return nil, c.heartbeat
	}
	if c.mustDrain {
		c.mustDrain = false
		return &providerv1.ConnectRequest{Message: &providerv1.ConnectRequest_Drain{Drain: &providerv1.Drain{}}}, 0
	}
	for index, attempt := range c.order {
		if message := attempt.outbox.next(); message != nil {
			c.order = append(append(c.order[:index:index], c.order[index+1:]...), attempt)
			return message, 0
		}
	}
	return nil, c.heartbeat
}

func (c *Connection) receive(response *providerv1.ConnectResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastHeard = time.Now()
	switch message := response.GetMessage().(type) {
	case *providerv1.ConnectResponse_Registered:
		c.registered(message.Registered)
	case *providerv1.ConnectResponse_Drain:
		c.isDrained = true
		c.closeWhenDrained()
	case *providerv1.ConnectResponse_Run:
		if attempt := c.attemptFor(message.Run); attempt != nil {
			attempt.run(message.Run)
		}
	case *providerv1.ConnectResponse_Input:
		if attempt := c.find(message.Input); attempt != nil {
			attempt.input(message.Input)
		}
	case *providerv1.ConnectResponse_ActionAnswer:
		if attempt := c.find(message.ActionAnswer); attempt != nil {
			attempt.answer(message.ActionAnswer)
		}
	case *providerv1.ConnectResponse_Cancel:
		c.stop(message.Cancel)
	case *providerv1.ConnectResponse_Ack:
		if attempt := c.find(message.Ack); attempt != nil {
			attempt.acknowledged(message.Ack)
		}
	}
}
