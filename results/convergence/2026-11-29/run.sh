#!/usr/bin/env bash
# run.sh BUILD WORK: the runs of this folder, or what is left of them, and what follows from their records. WORK keeps
# records and checkpoints. Needs ./bootstrap data; call it from the repository's root.
set -euo pipefail
build=$(realpath "$1")
work=$2
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
"$build/train" sweep "$here/noise_scale.json" -o "$work/noise_scale" --collect
mkdir -p "$here/records"
cp "$work/noise_scale.jsonl" "$here/records/"
results/relative_paths.sh "$here/records" "$(dirname "$build")" "$PWD" "$(realpath "$work")"
cd "$here/records"
"$build/simulate" convergence noise_scale.jsonl --name "LeNet (Caffe's) on MNIST" >"$here/laws.txt"
