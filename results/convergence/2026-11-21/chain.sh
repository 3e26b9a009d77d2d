#!/usr/bin/env bash
# chain.sh BUILD OUT: the whole chain on this machine's processor, quiet: seconds to 97 % on MNIST, predicted from a
# calibration and the convergence profile, against the seconds of real runs. The cells (S-SGD at batches 128 and 512) are
# held out of the profile's fits, and the calibration measures batches 32, 256 and 1024. Needs ./bootstrap data.
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cd "$here/../../.."
threads=${THREADS:-$(nproc)}

"$build/calibrate" --device host --gpus 1 --threads "$threads" --models lenet_caffe --batches 32,256,1024 --resume \
  --quiet --seconds 1 -o "$out/profile.json"
for batch in 128 512; do
  "$build/simulate" scenarios/lenet_host.json --quiet --gpus 1 --set /model=lenet_caffe \
    --set /compute/profile="$out/profile.json" --set /batch_per_gpu=$batch \
    --set '/convergence={"profile": "scenarios/convergence/lenet_mnist.json", "target": 0.97}' \
    --json "$out/predicted-$batch.json" >/dev/null
done
"$build/train" sweep "$here/chain.json" -o "$out/measured" --threads "$threads" --jobs 1

python3 - "$out" <<'PY' | tee "$out/table.txt"
import glob, json, math, statistics, sys

def crossing_s(record, target):
    """Training seconds at which the test error crosses the target's, log-linear between two evaluations."""
    before = None
    for at in record["evaluations"]:
        if at["test_accuracy"] >= target:
            if before is None:
                return at["train_s"]
            error = [math.log(max(1 - e["test_accuracy"], 1e-6)) for e in (before, at)]
            share = (error[0] - math.log(1 - target)) / (error[0] - error[1])
            return before["train_s"] + share * (at["train_s"] - before["train_s"])
        before = at
    return None

out = sys.argv[1]
print("batch  predicted s     bounds        measured s (median)  runs                     error")
for batch in (128, 512):
    point = json.load(open(f"{out}/predicted-{batch}.json"))["points"][0]
    runs = [crossing_s(json.load(open(f)), 0.97) for f in sorted(glob.glob(f"{out}/measured/ssgd-{batch}/seed-*.json"))]
    reached = sorted(r for r in runs if r is not None)
    if len(reached) < len(runs):
        print(f"{batch:5}  {len(runs) - len(reached)} of {len(runs)} runs did not reach it")
    if not reached:
        continue
    predicted, measured = point["time_to_accuracy_s"], statistics.median(reached)
    bounds = f"{point['time_to_accuracy_s_low']:.1f} to {point['time_to_accuracy_s_high']:.1f}"
    print(f"{batch:5}  {predicted:11.1f}  {bounds:>15}  {measured:16.1f}  {', '.join(f'{r:.1f}' for r in reached):>20}  "
          f"{100 * (predicted / measured - 1):+8.1f} %")
PY
results/relative_paths.sh "$out" "$(dirname "$build")" "$PWD" "$out"
