#!/usr/bin/env bash
# chain.sh BUILD OUT [99 | 97]: the whole chain on this machine's processor, quiet: seconds to an accuracy on MNIST,
# predicted from a calibration and the convergence profile, against the seconds of real runs (chain_99.json, chain.json)
# at batches that neither has seen. Needs ./bootstrap data.
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cd "$here/../../.."
threads=${THREADS:-$(nproc)}
case ${3:-99} in
  99) model=lenet calibrated=32,128,512 batches="64 256" target=0.99 profile=lenet_mnist_99 sweep=chain_99 ;;
  97) model=lenet_caffe calibrated=32,256,1024 batches="128 512" target=0.97 profile=lenet_mnist sweep=chain ;;
  *) echo "chain.sh: $3: no such target; allowed: 99, 97" >&2 && exit 2 ;;
esac

"$build/calibrate" --device host --gpus 1 --threads "$threads" --models $model --batches $calibrated --resume \
  --quiet --seconds 1 -o "$out/profile.json"
for batch in $batches; do
  "$build/simulate" scenarios/lenet_host.json --quiet --gpus 1 --set /model=$model \
    --set /compute/profile="$out/profile.json" --set /batch_per_gpu="$batch" \
    --set "/convergence={\"profile\": \"scenarios/convergence/$profile.json\", \"target\": $target}" \
    --csv "$out/predicted-$batch.csv" >/dev/null
done
"$build/train" sweep "$here/$sweep.json" -o "$out/measured" --threads "$threads" --jobs 1 --collect

python3 - "$out" $target $batches <<'PY' | tee "$out/table.txt"
import csv, json, math, statistics, sys

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

out, target, batches = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
records = [json.loads(line) for line in open(f"{out}/measured.jsonl")]
print("batch  predicted s     bounds        measured s (median)  runs                     error")
for batch in batches:
    point = next(csv.DictReader(open(f"{out}/predicted-{batch}.csv")))
    runs = [crossing_s(r, target) for r in records if r.get("name", "").startswith(f"ssgd-{batch}/seed-")]
    reached = sorted(r for r in runs if r is not None)
    if len(reached) < len(runs):
        print(f"{batch:>5}  {len(runs) - len(reached)} of {len(runs)} runs did not reach it")
    if not reached:
        continue
    predicted, measured = float(point["time_to_accuracy_s"]), statistics.median(reached)
    bounds = f"{float(point['time_to_accuracy_s_low']):.1f} to {float(point['time_to_accuracy_s_high']):.1f}"
    print(f"{batch:>5}  {predicted:11.1f}  {bounds:>15}  {measured:16.1f}  {', '.join(f'{r:.1f}' for r in reached):>20}  "
          f"{100 * (predicted / measured - 1):+8.1f} %")
PY
results/relative_paths.sh "$out" "$(dirname "$build")" "$PWD" "$out"
