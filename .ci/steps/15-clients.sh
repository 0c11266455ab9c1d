# apt: python3-venv
# The generated Go and Python code, as its users get it: a Go module that replaces ours by gen/go, and the wheel in a fresh
# environment under mypy --strict. (TypeScript: 60-package.)
source .ci/lib.sh
need 'go version' "Go is missing: install Go 1.26 or newer"
need 'python3 -m venv --help' "Python is missing: install Python 3.10 or newer with venv"

for module in gen/go test/generated/go; do
  (cd "$module" && go mod tidy -diff && go vet ./...)
done
go -C test/generated/go build -o "$CI_TMP/client" .

python3 -m venv "$CI_TMP/venv"
pip=$CI_TMP/venv/bin/pip
"$pip" wheel --quiet --no-deps --wheel-dir "$CI_TMP" ./gen/python
wheel=$(echo "$CI_TMP"/harnessruntime-*.whl)
"$pip" install --quiet "${wheel}[types]" mypy==2.4.1
cp test/generated/python/client.py "$CI_TMP/client.py"
cd "$CI_TMP"
venv/bin/mypy --strict client.py
venv/bin/python -c 'import client'
