# apt: chromium fonts-inter fonts-noto-color-emoji
# limit: 1200
# The console in a real browser: its views, its connections, its looks. Pictures are kept in artifacts/console.
source .ci/lib.sh
need "${CHROMIUM:-/usr/bin/chromium} --version" "Chromium is needed: apt-get install chromium"
tests 70-browser --project browser
