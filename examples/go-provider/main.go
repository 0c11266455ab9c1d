// Command go-provider is a provider in Go that dials in to a harness runtime. Run it beside `npx harness serve`:
//
//	go run . http://127.0.0.1:4310
//	npx harness run go-agent "tidy the attic"
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"harness-runtime.dev/gen/go/harnessprovider"
	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

var plan = []string{"look around", "sort what is there", "throw away the rest"}

func main() {
	url := "http://127.0.0.1:4310"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	provider := &harnessprovider.Provider{
		ID:       "go-agent",
		Version:  "1.0.0",
		Capacity: 32,
		Capabilities: map[string]v1.SupportLevel{
			"action.approval":  v1.SupportLevel_SUPPORT_LEVEL_NATIVE,
			"event.streaming":  v1.SupportLevel_SUPPORT_LEVEL_NATIVE,
			"execution.cancel": v1.SupportLevel_SUPPORT_LEVEL_NATIVE,
			"execution.resume": v1.SupportLevel_SUPPORT_LEVEL_NATIVE,
			"input.follow_up":  v1.SupportLevel_SUPPORT_LEVEL_NATIVE,
			"input.replace":    v1.SupportLevel_SUPPORT_LEVEL_NATIVE,
			"input.steer":      v1.SupportLevel_SUPPORT_LEVEL_NATIVE,
		},
		ConfigSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{
				"way":  map[string]any{"enum": []any{"plan", "tool", "chat"}},
				"pace": map[string]any{"type": "number", "minimum": 0},
			},
			"additionalProperties": false,
		},
		Run: run,
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	options := harnessprovider.Options{Token: os.Getenv("HARNESS_TOKEN"), Log: slog.Default()}
	if err := harnessprovider.Serve(ctx, provider, url, options); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, turn *harnessprovider.Turn) (*providerv1.Outcome, error) {
	switch turn.Config()["way"] {
	case "tool":
		return nil, tool(ctx, turn)
	case "chat":
		return nil, chat(ctx, turn)
	default:
		return nil, steps(ctx, turn)
	}
}

// steps works through the plan. The number of the next step is stored in the write that appends the last one's text, so
// that a further attempt goes on behind what is stored.
func steps(ctx context.Context, turn *harnessprovider.Turn) error {
	pace, ok := turn.Config()["pace"].(float64)
	if !ok {
		pace = 0.05
	}
	next, _ := strconv.Atoi(string(turn.Resume.GetState()))
	for number := next; number < len(plan); number++ {
		select {
		case <-time.After(time.Duration(pace * float64(time.Second))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := turn.SaveResumeState([]byte(strconv.Itoa(number + 1))); err != nil {
			return err
		}
		if err := turn.Text(ctx, fmt.Sprintf("%d. %s ", number+1, plan[number])); err != nil {
			return err
		}
	}
	return nil
}

// tool calls one tool, if it may.
func tool(ctx context.Context, turn *harnessprovider.Turn) error {
	call := &v1.ToolCallStarted{ToolCallId: "call-1", Name: "throw_away"}
	if err := turn.Emit(ctx, &v1.Event{Payload: &v1.Event_ToolCallStarted{ToolCallStarted: call}}); err != nil {
		return err
	}
	answer, err := turn.Approve(ctx, "tool throw_away", "May the agent run throw_away?")
	if err != nil {
		return err
	}
	done, said := &v1.ToolCallCompleted{ToolCallId: "call-1", Name: "throw_away"}, "done"
	if !answer.Approved {
		done.Error, said = "denied", "left as it is"
	}
	if err := turn.Emit(ctx, &v1.Event{Payload: &v1.Event_ToolCallCompleted{ToolCallCompleted: done}}); err != nil {
		return err
	}
	return turn.Text(ctx, turn.Input.GetText()+": "+said)
}

// chat repeats each steer until one says "stop".
func chat(ctx context.Context, turn *harnessprovider.Turn) error {
	for steer := range turn.Steers() {
		if err := turn.Text(ctx, strings.TrimSpace(steer.GetText())+" "); err != nil {
			return err
		}
		if steer.GetText() == "stop" {
			return nil
		}
	}
	return context.Cause(ctx)
}
