# Clients in Go and Python against a server of this project, through connections that break.
# limit: 900
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
need 'python3 -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"' \
  "Python 3.10 or newer with venv is needed: apt-get install python3 python3-venv"
(cd test/wire/go && go mod tidy -diff && go vet ./... && [ -z "$(gofmt -l .)" ] && go build -o "$CI_TMP/wire" .)
(cd examples/go && go mod tidy -diff && go vet ./... && [ -z "$(gofmt -l .)" ] && go build -o "$CI_TMP/example" .)
python3 -m venv "$CI_TMP/venv"
cp -r gen/python "$CI_TMP/package"
pip=("$CI_TMP/venv/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install "$CI_TMP/package[types]" mypy==2.4.1
# Stubs of another package for grpc may have overwritten these.
"${pip[@]}" install --force-reinstall --no-deps types-grpcio
"$CI_TMP/venv/bin/mypy" --strict test/wire/python/*.py examples/python/*.py
npm run build
export HARNESS_TEST_GO_WIRE="$CI_TMP/wire" HARNESS_TEST_GO_EXAMPLE="$CI_TMP/example"
export HARNESS_TEST_PYTHON="$CI_TMP/venv/bin/python"
tests 70-wire --project e2e test/e2e/wire
