# An agent from a configuration file under `harness serve`, driven by the command line, a Go program and grpcurl.
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
(cd test/e2e/agent/go && go mod tidy -diff && go vet ./... && [ -z "$(gofmt -l .)" ] && go build -o "$CI_TMP/agent" .)
GOBIN="$CI_TMP/bin" go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3
npm run build
export HARNESS_TEST_GO_AGENT="$CI_TMP/agent" HARNESS_TEST_GRPCURL="$CI_TMP/bin/grpcurl"
tests 74-agent --project e2e test/e2e/agent
