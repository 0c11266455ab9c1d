// Command agent starts an execution of a provider, approves whatever it asks for, and prints how it ended.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"harness-runtime.dev/gen/go/harnessclient"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

func main() {
	if err := run(context.Background(), harnessclient.Dial(os.Args[1], ""), os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *harnessclient.Client, provider, input string) error {
	execution, err := client.Start(ctx, &v1.StartExecutionRequest{ProviderId: provider, Input: &v1.Content{Text: input}})
	if err != nil {
		return err
	}
	for event, err := range client.FollowEvents(ctx, &v1.WatchEventsRequest{ExecutionId: execution.GetId()}) {
		if err != nil {
			return err
		}
		if action := event.GetActionRequired().GetAction(); action != nil {
			fmt.Println("asked:", action.GetTitle())
			answer := &v1.ActionResponse{Approved: new(true)}
			if _, err := client.Respond(ctx, action.GetExecutionId(), action.GetId(), answer); err != nil {
				return err
			}
		}
		if done := event.GetRunCompleted(); done != nil {
			fmt.Println("completed:", done.GetFinalOutput())
		}
	}
	return nil
}
