# The client in Python that is written by hand, installed as a wheel.
source .ci/lib.sh
need 'python3 -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"' \
  "Python 3.10 or newer with venv is needed: apt-get install python3 python3-venv"
python3 -m venv "$CI_TMP/venv"
cp -r gen/python "$CI_TMP/package"
pip=("$CI_TMP/venv/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install "$CI_TMP/package[types]" -r .ci/python-user/requirements.txt
# Stubs of another package for grpc may have overwritten these.
"${pip[@]}" install --force-reinstall --no-deps types-grpcio
cp -r gen/python/tests "$CI_TMP/tests"
cd "$CI_TMP"
venv/bin/mypy --strict -p harnessruntime_client
venv/bin/mypy --strict tests/*.py
venv/bin/pytest -q -p no:cacheprovider --junitxml="$CI_REPORTS/52-python-client.junit.xml" tests
