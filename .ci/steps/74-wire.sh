# Clients and tools that this project did not write, and its own in Go and Python, against a server of this project: through
# connections that break, behind nginx, and over every protocol.
# apt: nginx curl
# limit: 1500
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
need 'python3 -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"' \
  "Python 3.10 or newer with venv is needed: apt-get install python3 python3-venv"
need 'nginx -v' "nginx is needed: apt-get install nginx"
for module in test/wire/go examples/go; do
  (cd "$module" && go mod tidy -diff && go vet ./... && [ -z "$(gofmt -l .)" ] && go build -o "$CI_TMP/$module/" .)
done
(cd tools/peers && go mod tidy -diff)
for tool in github.com/fullstorydev/grpcurl/cmd/grpcurl github.com/grpc-ecosystem/grpc-health-probe; do
  go -C tools/peers build -o "$CI_TMP/peers/" "$tool"
done
python3 -m venv "$CI_TMP/venv"
cp -r gen/python "$CI_TMP/package"
pip=("$CI_TMP/venv/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install "$CI_TMP/package[types]" mypy==2.4.1
# Stubs of another package for grpc may have overwritten these.
"${pip[@]}" install --force-reinstall --no-deps types-grpcio
"$CI_TMP/venv/bin/mypy" --strict test/wire/python/*.py
"$CI_TMP/venv/bin/mypy" --strict examples/python/main.py
npm run build
export HARNESS_TEST_GO_WIRE="$CI_TMP/test/wire/go/wire" HARNESS_TEST_GO_EXAMPLE="$CI_TMP/examples/go/examples"
export HARNESS_TEST_PYTHON="$CI_TMP/venv/bin/python" HARNESS_TEST_PEERS="$CI_TMP/peers"
tests 74-wire --project e2e test/e2e/wire test/e2e/peers
