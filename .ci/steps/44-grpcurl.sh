# What the documentation and the server say to try with grpcurl, and the example for it.
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
GOBIN="$CI_TMP/bin" go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3
export PATH="$CI_TMP/bin:$PATH"
tests 44-grpcurl --project cli test/cli/docs.test.ts test/cli/serve.test.ts -t 'grpcurl|quickstart'
