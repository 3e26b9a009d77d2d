#!/usr/bin/env bash
# installed_test.sh BUILD on|off: what `cmake --install` puts down runs by itself: the command lockstep on the scenarios that
# come with it, and the documents, man pages and completions. No other program is in bin. Skipped (77) where programs are not all built.
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
fail() {
  echo "failed: $1"
  failures=$((failures + 1))
}
[ "$(ls "$prefix/bin")" = lockstep ] || fail "bin has $(ls "$prefix/bin")"
lockstep=$prefix/bin/lockstep
"$lockstep" --version >/dev/null || fail "lockstep --version"
for program in train calibrate; do
  "$lockstep" "$program" --version >/dev/null || fail "lockstep $program --version"
  [[ $("$lockstep" --help) == *"  $program "* ]] || fail "lockstep --help names no $program"
  [[ $("$lockstep" "$program" --help) == *"Usage: lockstep $program"* ]] || fail "lockstep $program --help names another command"
done
ln -s "$lockstep" "$prefix/link"
"$prefix/link" train --version >/dev/null || fail "lockstep by a symbolic link"
code=0
error=$("$lockstep" simulte job 2>&1) || code=$?
[ "$code" -eq 2 ] && [ "$error" = "lockstep: simulte: no such command; did you mean simulate? (see lockstep --help)" ] ||
  fail "a misspelt command: $code, $error"
if [ "$simgrid" = on ]; then
  for scenario in "$share"/lockstep/scenarios/*.json; do
    "$lockstep" simulate "$scenario" --fidelity analytic --quiet >/dev/null || fail "$scenario"
  done
  "$lockstep" simulate "$share/lockstep/scenarios/lenet_host.json" --fidelity message --quiet >/dev/null ||
    fail "a simulation by SimGrid's module"
  reply=$(bash -c "source '$share/bash-completion/completions/lockstep'; COMP_WORDS=(lockstep simulate --fid) COMP_CWORD=2
                   _lockstep; echo \"\${COMPREPLY[@]}\"")
  [ "$reply" = --fidelity ] || fail "completion of lockstep simulate --fid: $reply"
  error=$("$lockstep" simulate job --modle resnet50 2>&1) || true
  [ "$error" = "lockstep simulate job: --modle: no such option; did you mean --model? (see lockstep simulate job --help)" ] ||
    fail "a misspelt option: $error"
fi
for file in bash-completion/completions/lockstep zsh/vendor-completions/_lockstep man/man1/lockstep.1 \
            man/man1/lockstep-train.1 doc/*/README.md; do
  compgen -G "$share/$file*" >/dev/null || { echo "missing: $file"; failures=$((failures + 1)); }
done
[ "$failures" -eq 0 ] && echo "installed programs run"
