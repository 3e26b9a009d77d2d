#!/usr/bin/env bash
# run.sh BUILD WORK [runs | collect]...: the runs of this folder, or what is left of them, and what follows from their
# records. WORK keeps checkpoints and logs; it may hold runs that were cut off. Needs ./bootstrap data; call it from the
# repository's root. Several calls at a time divide the runs. JOBS (one per core) runs at a time, one thread each.
set -euo pipefail
build=$(realpath "$1")
work=$2
shift 2
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
sweeps=${SWEEPS:-ssgd_sma variants}

runs() {
  local sweep
  for sweep in $sweeps; do
    "$build/train" sweep "$here/$sweep.json" -o "$work/$sweep" ${JOBS:+--jobs "$JOBS"}
  done
}

# The records, without checkpoints and logs, and the profile, tables and picture that follow from them.
collect() {
  local sweep file
  mkdir -p "$here/records"
  for sweep in $sweeps; do
    (cd "$work" && find "$sweep" -name '*.json') | while read -r file; do
      mkdir -p "$here/records/$(dirname "$file")"
      cp "$work/$file" "$here/records/$file"
    done
  done
  results/relative_paths.sh "$here/records" "$(dirname "$build")" "$PWD" "$(realpath "$work")"
  for sweep in $sweeps; do
    "$build/train" sweep "$here/$sweep.json" -o "$work/$sweep" --show
  done >"$here/runs.txt"
  # Held out of the fits, where they have run.
  local out=""
  for cell in ssgd-128 ssgd-512 sma-16-2; do
    if compgen -G "$here/records/*/$cell/seed-*.json" >/dev/null; then out+=${out:+,}$cell; fi
  done
  (cd "$here/records" && "$build/simulate" convergence $sweeps ${out:+--hold-out "$out"} --name "LeNet (Caffe's) on MNIST" \
    -o "$here/../../../scenarios/convergence/lenet_mnist.json") >"$here/laws.txt"
  "$here/tradeoff.py" "$here/../../../scenarios/convergence/lenet_mnist.json" "$here/throughput.csv" 0.96 \
    "$here/tradeoff.svg"
}

if [ $# -eq 0 ]; then set -- runs collect; fi
for part in "$@"; do "$part"; done
