# limit: 1500
# The providers that start processes of their own, with an agent of this project's: started, cancelled, killed, and nothing left.
source .ci/lib.sh
tests 32-processes --project processes
