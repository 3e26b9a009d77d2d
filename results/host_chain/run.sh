#!/usr/bin/env bash
# run.sh BUILD OUT: the whole chain on this machine's processor, from nothing. Calibrates LeNet at batches 8, 32 and 128
# on one and on two devices, predicts batches 16 and 64 on both, trains them, and writes profile, measurements and a
# table to OUT. An interrupted run goes on with RESUME=1. REPEATS: trainings of each (5). SECONDS_PER_SERIES: longest
# time of one series of samples (2).
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
repeats=${REPEATS:-5}
series_s=${SECONDS_PER_SERIES:-2}
cd "$root"

[[ ${RESUME:-0} == 1 ]] || rm -f "$out"/profile*.json "$out"/profile*.samples.jsonl "$out"/predicted-* "$out"/trained-*.json
for devices in 1 2; do
  [[ -e "$out/profile.json" ]] && continue
  "$build/calibrate" --device host --gpus $devices --threads 2 --models lenet --batches 8,32,128 --resume --quiet \
    --seconds "$series_s" --most-bytes 8388608 -o "$out/profile-$devices.json"
done
# Which devices were together is in every sample's key; the name of the device differs in nothing.
[[ -e "$out/profile.json" ]] ||
  "$build/calibrate" merge "$out/profile-1.json" "$out/profile-2.json" -o "$out/profile.json"
rm -f "$out"/profile-[12].*  # their samples are in the merged one

for batch in 16 64; do
  "$build/simulate" scenarios/lenet_host.json --quiet --set /compute/profile="$out/profile.json" \
    --set /batch_per_gpu=$batch --csv "$out/predicted-$batch.csv" >/dev/null
  for devices in 1 2; do
    for repeat in $(seq "$repeats"); do
      [[ -e "$out/trained-$batch-$devices-$repeat.json" ]] && continue
      "$build/train" --quiet --model lenet --data synthetic --train-images 9984 --test-images 16 \
        --algorithm ssgd --gpus $devices --threads 2 --batch $batch --epochs 1 --learning-rate 0.001 --seed "$repeat" \
        -o "$out/trained-$batch-$devices-$repeat.json" >/dev/null
    done
  done
done

# The spread of a prediction: its compute part at the ends of the interval that holds the median of the samples at the
# calibrated batches on either side (95 %, by order statistics), the wider of the two.
python3 - "$out" "$repeats" <<'PY' | tee "$out/table.txt"
import csv, json, math, statistics, sys
out, repeats = sys.argv[1], int(sys.argv[2])
samples = json.load(open(f"{out}/profile.json"))["samples"]

def interval(seconds):
    """Relative ends of the 95 % interval of the median, as in calib/summary.cpp for independent samples."""
    s, n, below, k = sorted(seconds), len(seconds), 0.0, 0
    while k < n // 2 and 2 * (below + math.comb(n, k) * 0.5**n) <= 0.05:
        below += math.comb(n, k) * 0.5**n
        k += 1
    low, high = (s[0], s[-1]) if k == 0 else (s[k - 1], s[n - k])
    middle = statistics.median(s)
    return low / middle, high / middle

def spread(devices, batch):
    around = {16: (8, 32), 64: (32, 128)}[batch]
    ends = [interval(s["seconds"]) for s in samples if s["probe"] == "iteration" and s["key"].get("input")
            and s["key"]["devices"] == devices and s["key"]["batch"] in around]
    return min(e[0] for e in ends), max(e[1] for e in ends)

print("batch  devices  predicted images/s  its spread            measured (median)  spread of the runs    error")
for batch in (16, 64):
    points = {int(p["gpus"]): p for p in csv.DictReader(open(f"{out}/predicted-{batch}.csv"))}
    for devices in (1, 2):
        runs = [json.load(open(f"{out}/trained-{batch}-{devices}-{r}.json"))["epochs"][0]["samples_per_s"]
                for r in range(1, repeats + 1)]
        predicted, measured = float(points[devices]["samples_per_s"]), statistics.median(runs)
        fast, slow = spread(devices, batch)
        print(f"{batch:5}  {devices:7}  {predicted:18,.0f}  {predicted / slow:8,.0f} to {predicted / fast:6,.0f}  "
              f"{measured:17,.0f}  {min(runs):8,.0f} to {max(runs):6,.0f}  {100 * (predicted / measured - 1):+5.1f} %")
PY
results/relative_paths.sh "$out" "$(dirname "$build")" "$root"
