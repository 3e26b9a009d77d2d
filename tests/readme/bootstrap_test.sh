#!/usr/bin/env bash
# Tests what of ./bootstrap can be tested without installing or building: its usage, and a system without apt.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
work=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-bootstrap-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0

# check NAME WANTED_STATUS STREAM WANTED_TEXT COMMAND...
check() {
  local name=$1 wanted=$2 stream=$3 text=$4 status=0
  shift 4
  "$@" >"$work/out" 2>"$work/err" || status=$?
  if [ "$status" -eq "$wanted" ] && grep -qF -- "$text" "$work/$stream"; then return; fi
  echo "failed: $name: status $status, wanted $wanted and '$text' on std$stream; got:"
  sed 's/^/  /' "$work/out" "$work/err"
  failures=$((failures + 1))
}

check "help" 0 out "usage: ./bootstrap" "$root/bootstrap" help
check "an unknown verb" 2 err "usage: ./bootstrap" "$root/bootstrap" fly
check "two verbs" 2 err "usage: ./bootstrap" "$root/bootstrap" run test

# A system with neither apt nor a compiler: a PATH that holds no more than the shell and a few tools.
mkdir "$work/bin" "$work/tree"
for tool in bash env dirname; do ln -s "$(command -v "$tool")" "$work/bin"; done
cp "$root/bootstrap" "$work/tree"
check "no apt" 1 err "this system has no apt-get" env PATH="$work/bin" "$work/tree/bootstrap"
check "no apt, naming a tool" 1 err "  cmake" env PATH="$work/bin" "$work/tree/bootstrap"
check "no apt, naming a library" 1 err "SimGrid" env PATH="$work/bin" "$work/tree/bootstrap"
[ "$failures" -eq 0 ] && echo "all as wanted"
