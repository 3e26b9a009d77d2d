#!/usr/bin/env bash
# run.sh BUILD OUT: PyTorch jobs measured by the probe, and predicted from a part of what was measured, on this machine's
# processor. Processes of one thread, pinned; all series of a network take turns, those that are held out as well. Needs
# torch (./bootstrap test --with-torch) and a machine that does nothing else: it waits for one (ANY_LOAD=1: it does not).
# Called again, it goes on where it was interrupted; OUT keeps what it has measured.
#   NETWORKS             which (resnet20 vgg11 gpt)
#   PROCESSES            numbers of processes, each a run of its own (2, and 3 where there are three cores)
#   SECONDS_PER_SERIES   longest time of one series of samples (4: on two cores all takes twenty minutes, its waits among them)
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")"
python=python3
"$python" -c 'import torch' 2>/dev/null || python=/usr/bin/python3
cores=$(nproc)
usual=2
if [ "$cores" -ge 3 ]; then usual="2 3"; fi

. results/wait_for_quiet.sh

for network in ${NETWORKS:-resnet20 vgg11 gpt}; do
  for processes in ${PROCESSES:-$usual}; do
    file=$out/$network-$processes.jsonl
    [[ -e "$file.done" ]] && continue
    wait_for_quiet
    "$python" calib/torch/lockstep_probe.py "tests/torch/nets.py:$network" --name "$network" --processes "$processes" \
      --threads 1 --pin --batches 8,12,16,24,32 --seconds "${SECONDS_PER_SERIES:-4}" --most-bytes 16777216 --resume -o "$file"
    touch "$file.done"
  done
done
"$python" results/torch_chain/compare.py "$build" "$out" | tee "$out/table.txt"
