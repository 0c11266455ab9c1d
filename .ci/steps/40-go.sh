# The generated Go client, used from a module of its own.
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
top=$PWD
for module in gen/go test/generated/go; do
  (cd "$module" && go mod tidy -diff && go vet ./...)
done
cp .ci/go-user/*.go "$CI_TMP"
# The page's whole programs, each in a folder of its own.
mkdir -p "$CI_TMP"/readme/{1,2}
awk -v top="$CI_TMP/readme" '/^```$/ { file = "" } file { print >file }
  /^```go$/ { getline; if (/^package main/) { file = top "/" ++count "/main.go"; print >file } }' gen/go/README.md
cd "$CI_TMP"
go mod init harness-runtime.dev/user
go mod edit -require=harness-runtime.dev/gen/go@v0.0.0 -replace="harness-runtime.dev/gen/go=$top/gen/go"
export GOFLAGS=-mod=mod
go vet ./... harness-runtime.dev/gen/go/...
go test -json ./... >"$CI_REPORTS/40-go.gotest.json" || { cat "$CI_REPORTS/40-go.gotest.json"; exit 1; }
