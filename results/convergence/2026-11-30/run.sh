#!/usr/bin/env bash
# run.sh BUILD WORK: the runs of this folder, or what is left of them, and what follows from their records. WORK keeps
# records and checkpoints. Needs ./bootstrap data; call it from the repository's root.
set -euo pipefail
build=$(realpath "$1")
work=$2
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
"$build/train" sweep "$here/local_sgd.json" -o "$work/local_sgd" --collect
mkdir -p "$here/records"
cp "$work/local_sgd.jsonl" "$here/records/"
results/relative_paths.sh "$here/records" "$(dirname "$build")" "$PWD" "$(realpath "$work")"
cd "$here/records"
"$build/simulate" convergence ../../2026-11-21/records/ssgd_sma.jsonl local_sgd.jsonl \
  --hold-out ssgd-128,ssgd-512,sma-16-2,local-4-tau-8 --name "LeNet (Caffe's) on MNIST, with local SGD" \
  -o ../../../../scenarios/convergence/lenet_mnist_local.json >"$here/laws.txt"
