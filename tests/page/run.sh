#!/usr/bin/env bash
# run.sh BUILD: opens BUILD/lockstep.html in headless Chromium and uses it (page_test.mjs); compares its answers with those
# of BUILD/simulate. Exits 77 (skipped) where the page, Chromium, playwright-core or axe-core is missing.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
build=$(realpath "$1")
modules=$build/html-test

skip() { echo "skipped (page): $*"; exit 77; }
[ -e "$build/lockstep.html" ] || skip "no $build/lockstep.html; ./bootstrap page builds it"
command -v node >/dev/null || skip "no Node.js; ./bootstrap test gets it"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium; ./bootstrap test gets it"
for module in playwright-core axe-core; do
  [ -e "$modules/node_modules/$module/package.json" ] || skip "no $module in $modules; ./bootstrap test gets it"
done
CHROMIUM=$chromium LOCKSTEP_BUILD=$build node --test "$here/page_test.mjs" "$here/same_answers_test.mjs"
