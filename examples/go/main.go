// Command examples starts an execution, follows it, answers its approval, and goes on after a lost connection.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/protobuf/types/known/structpb"
	"harness-runtime.dev/gen/go/harnessclient"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

func main() {
	client := harnessclient.Dial(cmp.Or(os.Getenv("HARNESS_URL"), "http://127.0.0.1:4310"), "")
	if err := run(context.Background(), client); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *harnessclient.Client) error {
	config, err := structpb.NewStruct(map[string]any{"steps": []any{
		map[string]any{"text": map[string]any{"text": "I found three old logs.", "pace_ms": 20}},
		map[string]any{"approval": map[string]any{"title": "Delete 3 files?"}},
		map[string]any{"text": map[string]any{"text": " They are gone.", "pace_ms": 20}},
	}})
	if err != nil {
		return err
	}
	// The start bears an idempotency key: sent again after a failure of the network, it starts no second execution.
	execution, err := client.Start(ctx, &v1.StartExecutionRequest{
		ProviderId: "scripted",
		Input:      &v1.Content{Text: "Clean up."},
		Config:     config,
	})
	if err != nil {
		return err
	}

	// Lost connections are mended by FollowEvents. A program that was restarted goes on after the last sequence it kept.
	following := &v1.WatchEventsRequest{ExecutionId: execution.GetId()}
	for event, err := range client.FollowEvents(ctx, following) {
		if err != nil {
			return err
		}
		if err := take(ctx, client, event); err != nil {
			return err
		}
		if following.AfterSequence = event.GetSequence(); following.AfterSequence == 5 {
			break
		}
	}
	fmt.Printf("\n(restarted: going on after %d)\n", following.AfterSequence)
	for event, err := range client.FollowEvents(ctx, following) {
		if err != nil {
			return err
		}
		if err := take(ctx, client, event); err != nil {
			return err
		}
	}

	ended, err := client.Wait(ctx, execution.GetId())
	if err != nil {
		return err
	}
	fmt.Printf("%v: %s\n", ended.GetState(), ended.GetFinalOutput())
	if ended.GetState() != v1.ExecutionState_EXECUTION_STATE_SUCCEEDED {
		os.Exit(1)
	}
	return nil
}

// take shows an event, and answers it when it is a question.
func take(ctx context.Context, client *harnessclient.Client, event *v1.Event) error {
	switch payload := event.GetPayload().(type) {
	case *v1.Event_OutputTextDelta:
		fmt.Print(payload.OutputTextDelta.GetText())
	case *v1.Event_ActionRequired:
		action := payload.ActionRequired.GetAction()
		fmt.Printf("\n[%d] %s yes\n", event.GetSequence(), action.GetTitle())
		_, err := client.Respond(ctx, action.GetExecutionId(), action.GetId(), &v1.ActionResponse{Approved: new(true)})
		// Events may be shown again after a restart of this program: somebody, or this very program, was faster.
		if harnessclient.ReasonOf(err) != v1.ErrorReason_ERROR_REASON_ACTION_ALREADY_RESOLVED {
			return err
		}
	default:
		fmt.Printf("\n[%d] %T\n", event.GetSequence(), payload)
	}
	return nil
}
