package main

import (
	"context"
	"regexp"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// dialGrpcGo makes a client of gRPC's own library for Go, with its defaults.
func dialGrpcGo(url string) (opener, func(), error) {
	target := "passthrough:///" + strings.TrimPrefix(url, "http://")
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	open := func(ctx context.Context, method protoreflect.MethodDescriptor, token string) (stream, error) {
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		}
		desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: method.IsStreamingClient()}
		stream, err := conn.NewStream(ctx, desc, procedureOf(method))
		return grpcStream{stream}, err
	}
	return open, func() { _ = conn.Close() }, nil
}

type grpcStream struct{ grpc.ClientStream }

func (s grpcStream) Send(message any) error    { return s.SendMsg(message) }
func (s grpcStream) Receive(message any) error { return s.RecvMsg(message) }

var wordStart = regexp.MustCompile(`([a-z])([A-Z])`)

func failureOfStatus(status *status.Status) (*failure, error) {
	name := strings.ToUpper(wordStart.ReplaceAllString(status.Code().String(), "${1}_${2}"))
	if status.Code() == codes.OK {
		name = ""
	}
	result := &failure{Code: name, Details: []map[string]any{}}
	for _, detail := range status.Proto().GetDetails() {
		message, err := detail.UnmarshalNew()
		if err != nil {
			return nil, err
		}
		if err := result.add(string(message.ProtoReflect().Descriptor().FullName()), message); err != nil {
			return nil, err
		}
	}
	return result, nil
}
