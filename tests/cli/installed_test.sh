#!/usr/bin/env bash
# installed_test.sh BUILD on|off: what `cmake --install` puts down runs by itself: programs on the scenarios that come with
# them, and the documents and completions that the README names. Skipped (77) where programs are not all built.
set -euo pipefail
build=$1 simgrid=$2
prefix=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-installed.XXXXXX")
trap 'rm -rf "$prefix"' EXIT
if ! cmake --install "$build" --prefix "$prefix" >"$prefix/install.log" 2>&1; then
  grep -q 'cannot find' "$prefix/install.log" && { echo "skipped: not all programs are built"; exit 77; }
  cat "$prefix/install.log"
  exit 1
fi
share=$prefix/share
cd /
failures=0
for program in train calibrate; do
  "$prefix/bin/$program" --version >/dev/null || failures=$((failures + 1))
done
if [ "$simgrid" = on ]; then
  for scenario in "$share"/lockstep/scenarios/*.json; do
    if ! "$prefix/bin/simulate" "$scenario" --fidelity analytic --quiet >/dev/null; then
      echo "failed: $scenario"
      failures=$((failures + 1))
    fi
  done
fi
for file in bash-completion/completions/train zsh/vendor-completions/_train man/man1/train.1 doc/*/README.md; do
  compgen -G "$share/$file*" >/dev/null || { echo "missing: $file"; failures=$((failures + 1)); }
done
[ "$failures" -eq 0 ] && echo "installed programs run"
