# The client in Go that is written by hand.
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
cd gen/go
[ -z "$(gofmt -l harnessclient)" ] || { gofmt -d harnessclient; exit 1; }
go test -race -json ./harnessclient >"$CI_REPORTS/42-go-client.gotest.json" || { cat "$CI_REPORTS/42-go-client.gotest.json"; exit 1; }
