# The generated Go client, used from a module of its own.
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
top=$PWD
for module in gen/go test/generated/go; do
  (cd "$module" && go mod tidy -diff && go vet ./...)
done
cp .ci/go-user/*.go "$CI_TMP"
mkdir "$CI_TMP/readme"
awk '/^```$/ { shown = 0 } shown; /^```go$/ { getline; shown = /^package main/; if (shown) print }' gen/go/README.md >"$CI_TMP/readme/main.go"
cd "$CI_TMP"
go mod init harness-runtime.dev/user
go mod edit -require=harness-runtime.dev/gen/go@v0.0.0 -replace="harness-runtime.dev/gen/go=$top/gen/go"
export GOFLAGS=-mod=mod
go vet ./... harness-runtime.dev/gen/go/...
go test -json ./... >"$CI_REPORTS/40-go.gotest.json" || { cat "$CI_REPORTS/40-go.gotest.json"; exit 1; }
