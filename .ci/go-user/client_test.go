// Package user is what a user writes with the generated Go client.
package user

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	harnessruntimev1 "harness-runtime.dev/gen/go/harnessruntime/v1"
	"harness-runtime.dev/gen/go/harnessruntime/v1/harnessruntimev1connect"
)

type server struct {
	harnessruntimev1connect.UnimplementedExecutionServiceHandler
}

func (server) GetExecution(_ context.Context, request *harnessruntimev1.GetExecutionRequest) (*harnessruntimev1.GetExecutionResponse, error) {
	execution := &harnessruntimev1.Execution{
		Id:    request.ExecutionId,
		State: harnessruntimev1.ExecutionState_EXECUTION_STATE_RUNNING,
	}
	return &harnessruntimev1.GetExecutionResponse{Execution: execution}, nil
}

// TestClient calls a server that speaks both protocols, as the runtime does.
func TestClient(t *testing.T) {
	rpc := connect.NewServer()
	harnessruntimev1connect.RegisterExecutionServiceHandler(rpc, server{})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, rpc)
	front := httptest.NewUnstartedServer(mux)
	front.EnableHTTP2 = true
	front.StartTLS()
	defer front.Close()

	protocols := map[string][]connecthttp.Option{"Connect": nil, "gRPC": {connecthttp.WithGRPC()}}
	for name, options := range protocols {
		transport := connecthttp.NewTransport(front.Client(), front.URL, options...)
		client := harnessruntimev1connect.NewExecutionServiceClient(connect.NewClient(transport))
		t.Run(name+" answers", func(t *testing.T) {
			response, err := client.GetExecution(t.Context(), &harnessruntimev1.GetExecutionRequest{ExecutionId: "e"})
			if err != nil {
				t.Fatal(err)
			}
			if got := response.GetExecution(); got.GetId() != "e" || got.GetState() != harnessruntimev1.ExecutionState_EXECUTION_STATE_RUNNING {
				t.Errorf("got %v", got)
			}
		})
		t.Run(name+" errors have their code", func(t *testing.T) {
			_, err := client.ListExecutions(t.Context(), &harnessruntimev1.ListExecutionsRequest{})
			if got := connect.CodeOf(err); got != connect.CodeUnimplemented {
				t.Errorf("got %v: %v", got, err)
			}
		})
	}
}
