package harnessprovider

import (
	"context"
	crand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	"harness-runtime.dev/gen/go/harnessruntime/provider/v1/providerv1connect"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
	"harness-runtime.dev/gen/go/internal/rpc"
)

// goodStream is how long a stream lived that was a good one: the next wait is short again.
const goodStream = 10 * time.Second

// Options say how a provider connects. The zero value is good.
type Options struct {
	Token      string          // the token of the scope providers:connect; "" sends none
	InstanceID string          // names this process: stable over reconnects, never used by another; "" means random
	Client     *connect.Client // takes the place of gRPC over HTTP/2 by prior knowledge, without TLS
	Log        *slog.Logger    // nil means slog.Default()
	BaseDelay  time.Duration   // the first wait is between 0 and this, each further one up to twice as long: 200 ms
	MaxDelay   time.Duration   // no wait is longer: 15 s
}

// Connection is a provider that is connected, or about to be again.
type Connection struct {
	InstanceID string

	provider *Provider
	manifest *v1.ProviderManifest
	client   providerv1connect.ProviderServiceClient
	options  Options
	cancel   context.CancelCauseFunc
	wake     chan struct{}
	joined   chan struct{} // closed when the runtime took it for the first time
	done     chan struct{} // closed at the end; err says why
	err      error

	mu            sync.Mutex
	attempts      map[string]*attempt
	order         []*attempt
	isRegistered  bool
	wasRegistered bool
	isDraining    bool
	mustDrain     bool
	isDrained     bool
	heartbeat     time.Duration
	grace         time.Duration
	lastHeard     time.Time
	lapse         *time.Timer
}

var errClosed = errors.New("the provider closed its connection")

// Connect connects a provider to a runtime, such as "http://127.0.0.1:4310", and keeps it connected. It returns at once,
// with an error where the manifest cannot be made or baseURL is no URL.
func Connect(provider *Provider, baseURL string, options Options) (*Connection, error) {
	manifest, err := provider.manifest()
	if err != nil {
		return nil, err
	}
	if options.BaseDelay == 0 {
		options.BaseDelay = 200 * time.Millisecond
	}
	if options.MaxDelay == 0 {
		options.MaxDelay = 15 * time.Second
	}
	if options.InstanceID == "" {
		options.InstanceID = crand.Text()
	}
	if options.Client == nil {
		if err := rpc.CheckBaseURL(baseURL); err != nil {
			return nil, err
		}
		options.Client = rpc.Dial(baseURL, options.Token)
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &Connection{
		InstanceID: options.InstanceID, provider: provider, manifest: manifest, options: options, cancel: cancel,
		client: providerv1connect.NewProviderServiceClient(options.Client), attempts: map[string]*attempt{},
		wake: make(chan struct{}, 1), joined: make(chan struct{}), done: make(chan struct{}), heartbeat: 10 * time.Second,
	}
	go c.keep(ctx)
	return c, nil
}

// Serve connects a provider until ctx is done, then drains it.
func Serve(ctx context.Context, provider *Provider, baseURL string, options Options) error {
	c, err := Connect(provider, baseURL, options)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return c.Drain()
	case <-c.done:
		return c.err
	}
}

// Registered returns when the runtime took it for the first time; it fails where the runtime refuses for good.
func (c *Connection) Registered(ctx context.Context) error {
	select {
	case <-c.joined:
		return nil
	case <-c.done:
		return errors.Join(c.err, errClosed)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Drain takes no more executions, waits for those that there are, then closes.
func (c *Connection) Drain() error {
	c.mu.Lock()
	c.isDraining, c.mustDrain = true, true
	c.wakeUp()
	c.closeWhenDrained()
	c.mu.Unlock()
	<-c.done
	return c.err
}

// Close closes at once: what the instance has is lost to it.
func (c *Connection) Close() {
	c.cancel(errClosed)
	<-c.done
}

// Executions returns how many executions it has now.
func (c *Connection) Executions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.attempts)
}

func (c *Connection) keep(ctx context.Context) {
	defer close(c.done)
	defer c.dropAll(errClosed)
	for tries := 0; ; tries++ {
		began := time.Now()
		err := c.live(ctx)
		wasRegistered, longest := c.broke()
		if ctx.Err() != nil {
			return
		}
		if err != nil && isFinal(err, wasRegistered) {
			c.err = refusalFrom(err)
			return
		}
		c.options.Log.Warn("the connection broke; trying again", "error", err)
		if time.Since(began) > goodStream {
			tries = 0
		}
		limit := min(c.options.BaseDelay<<min(tries, 20), c.options.MaxDelay, longest)
		select {
		case <-time.After(rand.N(limit)):
		case <-ctx.Done():
			return
		}
	}
}

func (c *Connection) registered(registered *providerv1.Registered) {
	if interval := registered.GetHeartbeatInterval().AsDuration(); interval > 0 {
		c.heartbeat = interval
	}
	c.grace = registered.GetGrace().AsDuration()
	if c.lapse != nil {
		c.lapse.Stop()
	}
	named := map[string]*providerv1.HeldExecution{}
	for _, held := range registered.GetExecutions() {
		named[held.GetExecutionId()] = held
	}
	for _, attempt := range slices.Clone(c.order) {
		if held := named[attempt.executionID]; held.GetAttempt() == attempt.number {
			attempt.outbox.reopen(held.GetLastEmitId())
		} else {
			attempt.drop(errors.New("the execution is no longer this instance's"))
		}
	}
	if !c.wasRegistered {
		close(c.joined)
	}
	c.isRegistered, c.wasRegistered, c.isDrained, c.mustDrain = true, true, false, c.isDraining
	c.wakeUp()
}

// attemptFor returns the attempt of a run, new where it is later than the one there is; an earlier one is nil.
func (c *Connection) attemptFor(run *providerv1.Run) *attempt {
	id := run.GetExecution().GetId()
	found := c.attempts[id]
	if found != nil && found.number < run.GetAttempt() {
		found.drop(errors.New("a later attempt took its place"))
		found = nil
	}
	if found == nil {
		found = newAttempt(c, run)
		c.attempts[id] = found
		c.order = append(c.order, found)
	}
	if found.number > run.GetAttempt() {
		return nil
	}
	return found
}

// stop ends an attempt. One that the instance never had, or has no more, is confirmed as well; and a run that comes
// behind it begins nothing.
func (c *Connection) stop(cancel *providerv1.Cancel) {
	unheardOf := &providerv1.Run{Execution: &v1.Execution{Id: cancel.GetExecutionId()}, Attempt: cancel.GetAttempt()}
	if attempt := c.attemptFor(unheardOf); attempt != nil {
		attempt.cancel(cancel.GetReason())
	}
}

func (c *Connection) find(message interface {
	GetExecutionId() string
	GetAttempt() int32
}) *attempt {
	if found := c.attempts[message.GetExecutionId()]; found != nil && found.number == message.GetAttempt() {
		return found
	}
	return nil
}

func (c *Connection) ended(a *attempt) {
	if c.attempts[a.executionID] == a {
		delete(c.attempts, a.executionID)
	}
	c.order = slices.DeleteFunc(c.order, func(other *attempt) bool { return other == a })
	c.closeWhenDrained()
}

func (c *Connection) closeWhenDrained() {
	if c.isDraining && (c.isDrained || !c.wasRegistered) && len(c.attempts) == 0 {
		c.cancel(nil)
	}
}

// broke gives up what the instance has once the grace, counted from the runtime's last word, is over. It returns
// whether the runtime ever took the instance, and how long it may wait so that what it has, or
// was given just when the stream broke, is in no danger.
func (c *Connection) broke() (wasRegistered bool, longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isRegistered = false
	if c.lapse != nil {
		c.lapse.Stop()
	}
	if c.grace == 0 {
		return c.wasRegistered, c.options.MaxDelay
	}
	if len(c.attempts) > 0 {
		lost := errors.New("the runtime was away for longer than its grace")
		c.lapse = time.AfterFunc(time.Until(c.lastHeard.Add(c.grace)), func() { c.dropAll(lost) })
	}
	return c.wasRegistered, c.grace / 5
}

func (c *Connection) dropAll(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, attempt := range slices.Clone(c.order) {
		attempt.drop(why)
	}
}

// wakeUp tells the stream that there is something to send.
func (c *Connection) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
