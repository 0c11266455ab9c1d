module harness-runtime.dev/wire

go 1.26.0

require (
	connectrpc.com/connect/v2 v2.0.2
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	harness-runtime.dev/gen/go v0.0.0
)

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261110000943-09e21b237f2c // indirect
)

replace harness-runtime.dev/gen/go => ../../../gen/go
