package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/types/known/structpb"
	"harness-runtime.dev/gen/go/harnessclient"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"
)

// heartbeat is the server's, in these tests.
const heartbeat = 100 * time.Millisecond

// seen is what the client was shown of one execution.
type seen struct {
	ExecutionID string  `json:"executionId"`
	Sequences   []int32 `json:"sequences"`
	Text        string  `json:"text"`
}

func follow(ctx context.Context, line []byte) (any, error) {
	var job struct {
		URL    string         `json:"url"`
		Config map[string]any `json:"config"`
	}
	if err := json.Unmarshal(line, &job); err != nil {
		return nil, err
	}
	config, err := structpb.NewStruct(job.Config)
	if err != nil {
		return nil, err
	}
	client := hasty(job.URL)
	request := &v1.StartExecutionRequest{ProviderId: "scripted", Input: &v1.Content{Text: "go"}, Config: config}
	execution, err := client.Start(ctx, request)
	if err != nil {
		return nil, err
	}
	result := seen{ExecutionID: execution.GetId()}
	var text strings.Builder
	for event, err := range client.FollowEvents(ctx, &v1.WatchEventsRequest{ExecutionId: execution.GetId()}) {
		if err != nil {
			return nil, err
		}
		result.Sequences = append(result.Sequences, event.GetSequence())
		text.WriteString(event.GetOutputTextDelta().GetText())
	}
	result.Text = text.String()
	return result, nil
}

// hasty makes a client that waits as little as the tests need.
func hasty(url string) *harnessclient.Client {
	ping := &http.HTTP2Config{SendPingTimeout: 2 * heartbeat, PingTimeout: heartbeat}
	httpClient := &http.Client{Transport: &http.Transport{Protocols: http2Only(), HTTP2: ping}}
	client := harnessclient.New(connect.NewClient(connecthttp.NewTransport(httpClient, url, connecthttp.WithGRPC())))
	client.HeartbeatInterval = heartbeat
	client.BaseDelay, client.MaxDelay = 5*time.Millisecond, 50*time.Millisecond
	client.CallTimeout, client.CallGiveUp, client.StreamGiveUp = time.Second/2, time.Minute, time.Minute
	return client
}

func http2Only() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}
