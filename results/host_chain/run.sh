#!/usr/bin/env bash
# run.sh BUILD OUT: the whole chain on this machine's processor. Calibrates LeNet at batches 8, 32 and 128 on one and on
# two devices, predicts batches 16 and 64 on both, trains them, and writes profile, measurements and a table to OUT.
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
repeats=${REPEATS:-5}
cd "$root"

for devices in 1 2; do
  "$build/calibrate" --device host --gpus $devices --threads 2 --models lenet --batches 8,32,128 --resume --quiet --seconds 1 \
    -o "$out/profile-$devices.json"
done
# Which devices were together is in every sample's key; the name of the device differs in nothing.
"$build/calibrate" merge "$out/profile-1.json" "$out/profile-2.json" -o "$out/profile.json"

for batch in 16 64; do
  "$build/simulate" scenarios/lenet_host.json --quiet --set /compute/profile="$out/profile.json" \
    --set /batch_per_gpu=$batch --json "$out/predicted-$batch.json" >/dev/null
  for devices in 1 2; do
    for repeat in $(seq "$repeats"); do
      "$build/train" --quiet --model lenet --data synthetic --train-images 9984 --test-images 16 \
        --algorithm ssgd --gpus $devices --threads 2 --batch $batch --epochs 1 --learning-rate 0.001 --seed "$repeat" \
        -o "$out/trained-$batch-$devices-$repeat.json" >/dev/null
    done
  done
done

python3 - "$out" "$repeats" <<'PY' | tee "$out/table.txt"
import json, statistics, sys
out, repeats = sys.argv[1], int(sys.argv[2])
print("batch  devices  predicted images/s  measured (median)  spread of the runs    error")
for batch in (16, 64):
    points = {p["gpus"]: p for p in json.load(open(f"{out}/predicted-{batch}.json"))["points"]}
    for devices in (1, 2):
        runs = [json.load(open(f"{out}/trained-{batch}-{devices}-{r}.json"))["epochs"][0]["samples_per_s"]
                for r in range(1, repeats + 1)]
        predicted, measured = points[devices]["samples_per_s"], statistics.median(runs)
        print(f"{batch:5}  {devices:7}  {predicted:18,.0f}  {measured:17,.0f}  "
              f"{min(runs):8,.0f} to {max(runs):6,.0f}  {100 * (predicted / measured - 1):+5.1f} %")
PY
