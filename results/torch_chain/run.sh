#!/usr/bin/env bash
# run.sh BUILD OUT: PyTorch jobs measured by the probe, and predicted from a part of what was measured, on this machine's
# processor. Two processes of one thread, pinned; all series of a network take turns, those that are held out as well.
# Needs torch (./bootstrap test --with-torch). An interrupted run goes on with RESUME=1. NETWORKS: which (resnet20 vgg11
# gpt). SECONDS_PER_SERIES: longest time of one series of samples (6).
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
cd "$root"
python=python3
"$python" -c 'import torch' 2>/dev/null || python=/usr/bin/python3
for network in ${NETWORKS:-resnet20 vgg11 gpt}; do
  file=$out/$network.jsonl
  [[ ${RESUME:-0} == 1 ]] || rm -f "$file" "$file.done"
  [[ -e "$file.done" ]] && continue
  "$python" calib/torch/lockstep_probe.py "tests/torch/nets.py:$network" --name "$network" --processes 2 --threads 1 --pin \
    --batches 8,16,32 --seconds "${SECONDS_PER_SERIES:-6}" --most-bytes 16777216 --resume -o "$file"
  touch "$file.done"
done
rm -f "$out"/*.done
"$python" results/torch_chain/compare.py "$build" "$out" | tee "$out/table.txt"
