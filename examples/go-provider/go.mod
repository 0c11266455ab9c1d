module harness-runtime.dev/examples/go-provider

go 1.26.0

require harness-runtime.dev/gen/go v0.0.0

require (
	connectrpc.com/connect/v2 v2.0.2 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261110000943-09e21b237f2c // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace harness-runtime.dev/gen/go => ../../gen/go
