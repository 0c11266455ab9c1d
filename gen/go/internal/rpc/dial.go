// Package rpc is what harnessclient and harnessprovider share: a connection, and what errors say.
package rpc

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
)

// Dial makes a client that speaks gRPC over HTTP/2 to baseURL, without TLS by prior knowledge, and connects with the first
// call. A connection that is silent for 20 s is pinged, and given up 15 s later. token is the bearer token; "" sends none.
// Where baseURL is no URL, each call says so, with a code that no further try would mend.
func Dial(baseURL, token string) *connect.Client {
	if err := CheckBaseURL(baseURL); err != nil {
		return connect.NewClient(connecthttp.NewTransport(http.DefaultClient, baseURL), refusing(err))
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	ping := &http.HTTP2Config{SendPingTimeout: 20 * time.Second, PingTimeout: 15 * time.Second}
	httpClient := &http.Client{Transport: &http.Transport{Protocols: protocols, HTTP2: ping}}
	return connect.NewClient(connecthttp.NewTransport(httpClient, baseURL, connecthttp.WithGRPC()), bearer(token))
}

func refusing(err error) connect.ClientInterceptor {
	return func(connect.ClientFunc) connect.ClientFunc {
		return func(context.Context, connect.Spec) (connect.ClientStream, error) {
			return nil, connect.NewError(connect.CodeFailedPrecondition, err.Error())
		}
	}
}

func bearer(token string) connect.ClientInterceptor {
	return func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			if info, ok := connect.CallInfoForClientContext(ctx); ok && token != "" {
				info.RequestHeader().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, spec)
		}
	}
}
