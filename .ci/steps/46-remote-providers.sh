# Providers in Python and Go that dial in, against a server of this project: killed, shut down, and cut off.
# limit: 1500
source .ci/lib.sh
need 'go version | grep -qE "go1\.(2[6-9]|[3-9][0-9])"' "Go 1.26 or newer is needed: https://go.dev/doc/install"
need 'python3 -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"' \
  "Python 3.10 or newer with venv is needed: apt-get install python3 python3-venv"
(cd gen/go && [ -z "$(gofmt -l harnessprovider)" ] && go vet ./harnessprovider)
(cd gen/go && go test -race -json ./harnessprovider >"$CI_REPORTS/46-remote-providers.gotest.json") || { cat "$CI_REPORTS/46-remote-providers.gotest.json"; exit 1; }
(cd examples/go-provider && go mod tidy -diff && go vet ./... && [ -z "$(gofmt -l .)" ] && go build -race -o "$CI_TMP/provider" .)
python3 -m venv "$CI_TMP/venv"
cp -r gen/python "$CI_TMP/package"
pip=("$CI_TMP/venv/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install "$CI_TMP/package[types]" -r .ci/python-user/requirements.txt
# Stubs of another package for grpc may have overwritten these.
"${pip[@]}" install --force-reinstall --no-deps types-grpcio
cp examples/python-provider/main.py "$CI_TMP/example.py"
awk '/^```$/ { shown = 0 } shown; /^```python$/ { getline; shown = /^import asyncio/; if (shown) print }' gen/python/README.md >"$CI_TMP/readme.py"
(cd "$CI_TMP" && venv/bin/mypy --strict -p harnessruntime_provider && venv/bin/mypy --strict example.py && venv/bin/mypy --strict readme.py)
cp gen/python/tests/test_provider.py "$CI_TMP"
(cd "$CI_TMP" && venv/bin/pytest -q -p no:cacheprovider --junitxml="$CI_REPORTS/46-remote-providers.junit.xml" test_provider.py)
npm run build
export HARNESS_TEST_GO_PROVIDER="$CI_TMP/provider" HARNESS_TEST_PYTHON="$CI_TMP/venv/bin/python"
tests 46-remote-providers --project e2e test/e2e/remote
