#!/usr/bin/env bash
# opened.sh TRAIN: training on the host opens none of NVIDIA's libraries, although the program can use them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
LD_DEBUG=files LD_DEBUG_OUTPUT="$folder/opened" "$1" --model lenet --data synthetic --train-images 32 --test-images 16 \
  --epochs 1 --threads 1 --quiet -o "$folder/run.json"
grep -q libcrypto "$folder"/opened.* || { echo "the loader said nothing"; exit 1; }
if grep -hoE 'file=lib(cuda|cudart|cudnn|cublas|nccl|nvidia)[^ ]*' "$folder"/opened.*; then exit 1; fi
