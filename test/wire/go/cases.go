package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "harness-runtime.dev/gen/go/harnessruntime/v1"
)

// question is one call, or as many at once as parallel says.
type question struct {
	URL      string            `json:"url"`
	Protocol string            `json:"protocol"`
	Token    string            `json:"token"`
	Service  string            `json:"service"`
	Method   string            `json:"method"`
	Requests []json.RawMessage `json:"requests"`
	Until    string            `json:"until"` // the field of the event after which the stream is left
	Parallel int               `json:"parallel"`
}

// outcome is what came of one call, as Protobuf's JSON with the fields' own names.
type outcome struct {
	Responses []json.RawMessage `json:"responses"`
	Bytes     []int             `json:"bytes"`
	Error     *failure          `json:"error,omitempty"`
}

type failure struct {
	Code    string           `json:"code"`
	Details []map[string]any `json:"details"`
}

var protocols = map[string][]connecthttp.Option{
	"gRPC":                  {connecthttp.WithGRPC()},
	"gRPC-Web":              {connecthttp.WithGRPCWeb()},
	"Connect":               {},
	"Connect, JSON":         {connecthttp.WithProtoJSON()},
	"Connect over HTTP/1.1": {},
}

func cases(ctx context.Context, line []byte) (any, error) {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return nil, err
	}
	open, done, err := dial(q)
	if err != nil {
		return nil, err
	}
	defer done()
	outcomes := make([]*outcome, max(1, q.Parallel))
	failures := make([]error, len(outcomes))
	var calls sync.WaitGroup
	for i := range outcomes {
		calls.Go(func() { outcomes[i], failures[i] = call(ctx, open, q) })
	}
	calls.Wait()
	return outcomes, errors.Join(failures...)
}

// stream is one call of any library.
type stream interface {
	Send(message any) error
	CloseSend() error
	Receive(message any) error
}

// opener opens the stream of a method.
type opener func(ctx context.Context, method protoreflect.MethodDescriptor, token string) (stream, error)

// dial returns how to open streams, and what ends the connection.
func dial(q question) (opener, func(), error) {
	if q.Protocol == "gRPC, grpc-go" {
		return dialGrpcGo(q.URL)
	}
	options, ok := protocols[q.Protocol]
	if !ok {
		return nil, nil, fmt.Errorf("unknown protocol %s", q.Protocol)
	}
	httpClient := &http.Client{Transport: &http.Transport{Protocols: http2Only()}}
	if q.Protocol == "Connect over HTTP/1.1" {
		httpClient.Transport = &http.Transport{}
	}
	client := connect.NewClient(connecthttp.NewTransport(httpClient, q.URL, options...))
	open := func(ctx context.Context, method protoreflect.MethodDescriptor, token string) (stream, error) {
		ctx, info := connect.NewClientContext(ctx)
		if token != "" {
			info.RequestHeader().Set("Authorization", "Bearer "+token)
		}
		kind := connect.StreamTypeUnary
		if method.IsStreamingServer() {
			kind = connect.StreamTypeServer
		}
		if method.IsStreamingClient() {
			kind |= connect.StreamTypeClient
		}
		return client.CallClientStream(ctx, connect.Spec{StreamType: kind, Schema: method, Procedure: procedureOf(method)})
	}
	return open, httpClient.CloseIdleConnections, nil
}

func procedureOf(method protoreflect.MethodDescriptor) string {
	return fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
}

func call(ctx context.Context, open opener, q question) (*outcome, error) {
	name := protoreflect.FullName("harnessruntime.v1." + q.Service)
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, err
	}
	method := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(q.Method))
	if method == nil {
		return nil, fmt.Errorf("no method %s of %s", q.Method, q.Service)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := open(ctx, method, q.Token)
	if err == nil {
		err = sendAll(stream, method, q.Requests)
	}
	result := &outcome{Responses: []json.RawMessage{}, Bytes: []int{}}
	for err == nil {
		response := newMessage(method.Output())
		if err = stream.Receive(response); err != nil {
			break
		}
		text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(response)
		if err != nil {
			return nil, err
		}
		result.Responses = append(result.Responses, text)
		result.Bytes = append(result.Bytes, proto.Size(response))
		if !method.IsStreamingServer() || q.Until != "" && strings.Contains(string(text), `"`+q.Until+`":`) {
			return result, nil
		}
	}
	if !errors.Is(err, io.EOF) {
		result.Error, err = failureOf(err)
		return result, err
	}
	return result, nil
}

// sendAll sends the requests and closes the sending side. A stream that has ended says why when it is read.
func sendAll(stream stream, method protoreflect.MethodDescriptor, requests []json.RawMessage) error {
	for _, text := range requests {
		request := newMessage(method.Input())
		if err := protojson.Unmarshal(text, request); err != nil {
			return err
		}
		if err := stream.Send(request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return stream.CloseSend()
}

func newMessage(descriptor protoreflect.MessageDescriptor) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(descriptor.FullName())
	if err != nil {
		panic(err)
	}
	return kind.New().Interface()
}

func failureOf(err error) (*failure, error) {
	if status, ok := status.FromError(err); ok {
		return failureOfStatus(status)
	}
	result := &failure{Code: strings.ToUpper(connect.CodeOf(err).String()), Details: []map[string]any{}}
	known, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return result, nil
	}
	for _, detail := range known.Details() {
		message, err := connectproto.UnmarshalErrorDetail(detail)
		if err != nil {
			return nil, err
		}
		if err := result.add(detail.Type, message); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func (f *failure) add(name string, message proto.Message) error {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	fields["type"] = name
	f.Details = append(f.Details, fields)
	return nil
}
