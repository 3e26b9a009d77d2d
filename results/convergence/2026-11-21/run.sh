#!/usr/bin/env bash
# run.sh BUILD WORK [runs | collect]...: the runs of this folder, or what is left of them, and what follows from their
# records. WORK keeps records, checkpoints and logs; it may hold runs that were cut off. Needs ./bootstrap data; call it from the
# repository's root. Several calls at a time divide the runs. JOBS (one per core) runs at a time, one thread each.
set -euo pipefail
build=$(realpath "$1")
work=$2
shift 2
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
all="ssgd_sma variants to_99 variants_99 stale_97 resnet_fashion"
sweeps=${SWEEPS:-$all}

runs() {
  local sweep
  for sweep in $sweeps; do
    "$build/train" sweep "$here/$sweep.json" -o "$work/$sweep" ${JOBS:+--jobs "$JOBS"}
  done
}

# profile FILE NAME HELD_OUT SWEEP...: the profile of these sweeps, and its laws as text. Cells of HELD_OUT (with commas)
# take no part in the fits.
profile() {
  local file=$1 name=$2 cell out=""
  for cell in ${3//,/ }; do
    if grep -qF "\"name\":\"$cell/seed-" "$here"/records/*.jsonl; then out+=${out:+,}$cell; fi
  done
  shift 3
  (cd "$here/records" && "$build/simulate" convergence "${@/%/.jsonl}" ${out:+--hold-out "$out"} --name "$name" \
    -o "$here/../../../scenarios/convergence/$file")
}

# The records, without checkpoints and logs, and the profiles, tables and pictures that follow from all of them.
collect() {
  local sweep
  mkdir -p "$here/records"
  for sweep in $sweeps; do
    [[ -d "$work/$sweep" || -f "$work/$sweep.jsonl" ]] || continue
    "$build/train" sweep "$here/$sweep.json" -o "$work/$sweep" --show --collect >/dev/null
    cp "$work/$sweep.jsonl" "$here/records/"
  done
  results/relative_paths.sh "$here/records" "$(dirname "$build")" "$PWD" "$(realpath "$work")"
  for sweep in $all; do
    "$build/train" sweep "$here/$sweep.json" -o "$here/records/$sweep" --show
  done >"$here/runs.txt"
  profile lenet_mnist.json "LeNet (Caffe's) on MNIST" ssgd-128,ssgd-512,sma-16-2 ssgd_sma variants >"$here/laws.txt"
  profile lenet_mnist_99.json "LeNet (Crossbow's) on MNIST to 99 %" ssgd-128,sma-16-2,sma-16-4-tau-3 \
    to_99 variants_99 >"$here/laws_99.txt"
  profile lenet_mnist_stale.json "LeNet (Caffe's) on MNIST, stale gradients" "" stale_97 >"$here/laws_stale.txt"
  profile resnet8_fashion.json "ResNet-8 on Fashion-MNIST to 89 %" ssgd-256,sma-16-2,sma-16-8 resnet_fashion \
    >"$here/laws_resnet.txt"
  "$here/tradeoff.py" "$here/../../../scenarios/convergence/lenet_mnist_99.json" "$here/throughput.csv" 0.99 \
    "$here/tradeoff.svg"
}

if [ $# -eq 0 ]; then set -- runs collect; fi
for part in "$@"; do "$part"; done
