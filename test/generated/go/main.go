// Command client starts an execution of the provider `scripted`, follows it to its end over gRPC, and prints what it
// saw as one line of JSON. usage: client BASE_URL
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	harnessruntimev1 "harness-runtime.dev/gen/go/harnessruntime/v1"
	"harness-runtime.dev/gen/go/harnessruntime/v1/harnessruntimev1connect"
)

// Report is what the program prints.
type Report struct {
	ProtocolVersion string `json:"protocolVersion"`
	Events          int    `json:"events"`
	FinalOutput     string `json:"finalOutput"`
	Reason          string `json:"reason"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client BASE_URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	report, err := run(ctx, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, baseURL string) (*Report, error) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	httpClient := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	client := connect.NewClient(connecthttp.NewTransport(httpClient, baseURL, connecthttp.WithGRPC()))

	runtime, err := harnessruntimev1connect.NewRuntimeServiceClient(client).
		DescribeRuntime(ctx, &harnessruntimev1.DescribeRuntimeRequest{})
	if err != nil {
		return nil, err
	}
	executions := harnessruntimev1connect.NewExecutionServiceClient(client)
	started, err := executions.StartExecution(ctx, &harnessruntimev1.StartExecutionRequest{
		ProviderId: "scripted",
		Input:      &harnessruntimev1.Content{Text: "hello from Go"},
	})
	if err != nil {
		return nil, err
	}
	report := &Report{ProtocolVersion: runtime.GetProtocolVersion()}
	if err := follow(ctx, executions, started.GetExecution().GetId(), report); err != nil {
		return nil, err
	}
	_, err = executions.GetExecution(ctx, &harnessruntimev1.GetExecutionRequest{ExecutionId: "missing"})
	report.Reason = reasonOf(err)
	return report, nil
}

// follow reads the log to its end.
func follow(ctx context.Context, executions harnessruntimev1connect.ExecutionServiceClient, id string, report *Report) error {
	stream, err := executions.WatchEvents(ctx, &harnessruntimev1.WatchEventsRequest{ExecutionId: id})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for {
		frame, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, event := range frame.GetEvents() {
			report.Events++
			if int(event.GetSequence()) != report.Events {
				return fmt.Errorf("event %d came as number %d", event.GetSequence(), report.Events)
			}
			if completed := event.GetRunCompleted(); completed != nil {
				report.FinalOutput = completed.GetFinalOutput()
			}
		}
	}
}

// reasonOf returns the reason in an error's details, or "" where it has none.
func reasonOf(err error) string {
	failure, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return ""
	}
	for _, detail := range failure.Details() {
		message, err := connectproto.UnmarshalErrorDetail(detail)
		if info, ok := message.(*errdetails.ErrorInfo); ok && err == nil {
			return info.GetReason()
		}
	}
	return ""
}
