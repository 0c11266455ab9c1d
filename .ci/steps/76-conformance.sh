# The Connect project's own conformance suite, over gRPC, gRPC-Web and Connect, against this project's port and adapter.
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
go -C tools/peers build -o "$CI_TMP/" connectrpc.com/conformance/cmd/connectconformance
buf build "$(go -C tools/peers list -m -f '{{.Dir}}' connectrpc.com/conformance)/proto" -o "$CI_TMP/image.binpb"
"$CI_TMP/connectconformance" --mode server --conf test/e2e/conformance/connect.yaml --max-servers 2 --parallel 4 -- \
  node --no-warnings --experimental-transform-types --import ./scripts/source.mjs \
  test/e2e/conformance/reference-server.child.ts "$CI_TMP/image.binpb"
