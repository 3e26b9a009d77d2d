#!/usr/bin/env bash
# recipes_build_test.sh SOURCE_DIR BUILD_DIR: applies all patches of tests/recipes to a copy of the source, builds it, and runs
# what each adds. Minutes: a test of the nightly preset.
set -euo pipefail
source=$1 work=$2/recipes
copy=$work/source programs=$work/build
rm -rf "$work"
mkdir -p "$copy"
(cd "$source" && tar cf - --exclude='./build*' --exclude=./.git .) | tar xf - -C "$copy"
cd "$copy"
git init -q .
for patch in tests/recipes/*.patch; do git apply "$patch"; done
cmake -S . -B "$programs" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_CUDA=OFF -DLOCKSTEP_TESTS=OFF \
  -DLOCKSTEP_BENCHMARKS=OFF -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >"$work/configure.log"
cmake --build "$programs" --target simulate calibrate train >"$work/build.log" || {
  tail -30 "$work/build.log"
  exit 1
}

fail() {
  echo "recipes: $1"
  exit 1
}
# The value of a key in a JSON file, by a path of Python.
value() { python3 -c "import json, sys; print(json.load(open(sys.argv[1]))$2)" "$1"; }
less() { python3 -c "import sys; sys.exit(not float(sys.argv[1]) < float(sys.argv[2]))" "$1" "$2"; }

# A collective: each segment has the ring's latencies once more.
"$programs/simulate" --scenario-template s-sgd >"$work/s_sgd.json"
for kind in ring segmented-ring; do
  "$programs/simulate" "$work/s_sgd.json" --gpus 32 --set "/communication/all_reduce=$kind" --json "$work/$kind.json" \
    >/dev/null
done
ring=$(value "$work/ring.json" "['points'][0]['iteration_s']['mean']")
segmented=$(value "$work/segmented-ring.json" "['points'][0]['iteration_s']['mean']")
less "$ring" "$segmented" || fail "a segmented ring takes $segmented s, the ring $ring s"

# An algorithm: predicted, and trained.
"$programs/simulate" --scenario-template local-sgd >"$work/local_sgd.json"
python3 - "$work" <<'END'
import json, sys
folder = sys.argv[1]
scenario = json.load(open(f"{folder}/local_sgd.json"))
scenario["algorithm"] = "post-local-sgd"
scenario["post_local_sgd"] = {"first_steps": 4, "period": scenario.pop("local_sgd", {}).get("period", 8)}
scenario.pop("convergence", None)
json.dump(scenario, open(f"{folder}/post_local_sgd.json", "w"))
END
"$programs/simulate" "$work/post_local_sgd.json" >"$work/post_local_sgd.txt"
grep -q "post-local SGD" "$work/post_local_sgd.txt" || fail "post-local SGD is not in its table"
"$programs/train" --model lenet --data synthetic --algorithm post-local-sgd --first-averaged 2 --tau 4 --gpus 2 \
  --train-images 256 --test-images 64 --epochs 1 --quiet -o "$work/run.json" >/dev/null
[ "$(value "$work/run.json" "['options']['first_averaged']" 2>/dev/null ||
  grep -c first_averaged "$work/run.json")" != 0 ] || fail "a run does not record its option"

# A key of a split: an option of a job, which slows it down.
job=(job --model mixtral_8x7b --gpu H100 --gpus 64 --global-batch 256 --micro-batch 1 --tensor 2 --pipeline 4 --expert 8
  --ignore-memory)
"$programs/simulate" "${job[@]}" --json "$work/plain.json" >/dev/null
"$programs/simulate" "${job[@]}" --expert-slowdown 2 --json "$work/slow.json" >/dev/null
plain=$(value "$work/plain.json" "['predictions'][0]['predicted']")
slow=$(value "$work/slow.json" "['predictions'][0]['predicted']")
less "$slow" "$plain" || fail "slower experts give $slow samples/s, others $plain"

# A fact of a job: an option, which slows it down.
job=(job --model gpt2 --gpu H100 --gpus 8 --batch 8)
"$programs/simulate" "${job[@]}" --gelu-bytes 4 --json "$work/plain.json" >/dev/null
"$programs/simulate" "${job[@]}" --gelu-bytes 1000 --json "$work/slow.json" >/dev/null
plain=$(value "$work/plain.json" "['predictions'][0]['predicted']")
slow=$(value "$work/slow.json" "['predictions'][0]['predicted']")
less "$slow" "$plain" || fail "slower GELUs give $slow samples/s, others $plain"

# A metric: of a record.
python3 - "$work" <<'END'
import json, sys
record = {"id": "free", "metric": "free_memory", "model": "resnet50", "gpu": "A100", "gpus": 8, "batch_per_gpu": 64}
json.dump({"records": [record]}, open(f"{sys.argv[1]}/records.json", "w"))
END
"$programs/simulate" --predict "$work/records.json" --json "$work/predictions.json" >/dev/null
less 1e9 "$(value "$work/predictions.json" "['predictions'][0]['predicted']")" || fail "no free memory is predicted"

# A generation of GPUs: NCCL's collectives on it.
"$programs/simulate" "$work/s_sgd.json" --gpus 32 --set /communication/all_reduce=nccl \
  --set '/communication/nccl={"generation": "rubin"}' >/dev/null || fail "no NCCL of the generation rubin"

# An importer: a profile from its log.
printf '1 0.10\n2 0.11\n3 0.10\n' >"$work/steps.log"
"$programs/calibrate" import steps "$work/steps.log" --model resnet50 --precision fp32 --batch 32 -o "$work/profile.json" \
  >/dev/null || fail "steps are not imported"
[ -s "$work/profile.json" ] || fail "no profile of steps"
echo "recipes: seven patches built and run"
