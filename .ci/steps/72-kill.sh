# A server that is killed (-9) at random points under load, and started again on the same data.
# limit: 600
source .ci/lib.sh
tests 72-kill --project e2e test/e2e/kill
