# The generated Python client, installed as a wheel and type-checked as strictly as a user may.
source .ci/lib.sh
need 'python3 -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"' \
  "Python 3.10 or newer with venv is needed: apt-get install python3 python3-venv"
python3 -m venv "$CI_TMP/venv"
cp -r gen/python "$CI_TMP/package"
cp .ci/python-user/* test/generated/python/client.py "$CI_TMP"
"$CI_TMP/venv/bin/pip" install --quiet --disable-pip-version-check "$CI_TMP/package[types]" -r .ci/python-user/requirements.txt
cd "$CI_TMP"
venv/bin/mypy --strict test_client.py client.py
venv/bin/pytest -q -p no:cacheprovider --junitxml="$CI_REPORTS/50-python.junit.xml" test_client.py
