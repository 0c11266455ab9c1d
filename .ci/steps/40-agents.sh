# limit: 2100
# apt: iproute2 util-linux
# The agents that have a preset, end to end, with a scripted model and no network but loopback. They come from a lock file of their own.
source .ci/lib.sh
need "unshare --net --mount true" "namespaces are needed: run it as root"
npm ci --prefix test/agents --omit=optional --ignore-scripts --no-audit --no-fund
test/agents/offline.sh bash -euo pipefail -c 'source .ci/lib.sh; tests 40-agents --project agents --no-file-parallelism'
