#!/usr/bin/env bash
# run.sh BUILD: makes pages with the programs in BUILD and opens them in headless Chromium (pages_test.mjs).
# Exits 77 (skipped) where Node.js, Chromium, playwright-core or axe-core is missing; "./bootstrap test" gets them all.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source_dir=$(realpath "$here/../..")
build=$(realpath "$1")
modules=$build/html-test

skip() { echo "skipped (html): $*; ./bootstrap test gets it"; exit 77; }
command -v node >/dev/null || skip "no Node.js"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium"
for module in playwright-core axe-core; do
  [ -e "$modules/node_modules/$module/package.json" ] || skip "no $module in $modules"
done

pages=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-html-test.XXXXXX")
trap 'rm -rf "$pages"' EXIT
"$build/simulate" "$source_dir/scenarios/imagenet_64k.json" --quiet --html "$pages/simulation.html" >"$pages/simulation.txt"
"$build/simulate" "$source_dir/scenarios/imagenet_64k_groups.json" --quiet --html "$pages/variants.html" >/dev/null
"$build/validate" --suite "$source_dir/scenarios/published" --catalogue "$source_dir/scenarios/catalogue" --only exchanges --quiet --html "$pages/validation.html" >/dev/null
"$build/plan" "$source_dir/scenarios/plans/imagenet_hour.json" --quiet -o "$pages/planned.html" >/dev/null
"$build/plan" job --model resnet50 --gpu H100,A100 --nodes 1,2,4 --batch 64,256 --network "8x 400 Gb/s,100 GbE" --epochs 90 \
  --price H100=2.5/h,A100=1.5/h --deadline 2h --failures --energy --co2 400 --catalogue "$source_dir/scenarios/catalogue" --quiet -o "$pages/asked.html" >/dev/null
node "$here/pages_test.mjs" "$modules" "$chromium" "$pages"
