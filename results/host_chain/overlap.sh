#!/usr/bin/env bash
# overlap.sh BUILD OUT: steps of S-SGD over processes of this machine with and without overlap of gradients and
# back-propagation, predicted and measured. For every network and number of processes: calibrates both together (a thread
# each), predicts, and trains REPEATS (5) times with `--bucket-bytes` and without, in turn. Writes profiles, records and
# overlap.txt to OUT. What is there is not measured again, so that an interrupted run goes on.
# MODELS: "NAME:BATCH:IMAGES:BUCKET ...", COUNTS: processes ("2 3").
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
repeats=${REPEATS:-5}
models=${MODELS:-lenet:32:4096:200000 resnet32:32:768:200000 vgg16_cifar100:32:192:4000000}
counts=${COUNTS:-2 3}
cd "$root"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

for entry in $models; do
  IFS=: read -r model batch images bucket <<<"$entry"
  for count in $counts; do
    launch=(mpirun --oversubscribe --bind-to none -n "$count")
    name=$model-$count
    profile=$out/overlap-profile-$name.json
    if [[ ! -e $profile ]]; then
      "${launch[@]}" "$build/calibrate" --device host --threads 1 --models "$model" --batches "$batch" --quiet \
        --probes iteration,collective,overlap,layer --seconds "${SECONDS_PER_SERIES:-1}" --once \
        --most-bytes 67108864 -o "$profile"
      rm -f "${profile%.json}".samples.jsonl
    fi
    for overlap in true false; do
      threshold=$bucket
      [[ $overlap == true ]] || threshold=1000000000
      "$build/simulate" scenarios/lenet_host.json --quiet --set /model="$model" --set /compute/profile="$profile" \
        --set /batch_per_gpu="$batch" --set /gpus="[$count]" --set /baseline/gpus="$count" \
        --set /cluster/gpus_per_node/value="$count" --set /communication/all_reduce=profile \
        --set /communication/overlap=$overlap --set /communication/fusion_threshold/value="$threshold B" \
        --csv "$out/overlap-predicted-$name-$overlap.csv" >/dev/null
    done
    for repeat in $(seq "$repeats"); do
      for overlap in true false; do
        record=$out/overlap-trained-$name-$overlap-$repeat.json
        [[ -e $record ]] && continue
        flags=()
        [[ $overlap == false ]] || flags=(--bucket-bytes "$bucket")
        "${launch[@]}" "$build/train" --quiet --model "$model" --data "${DATA:-synthetic}" --train-images "$((images * count))" \
          --test-images "$batch" --threads 1 --batch "$batch" --epochs 1 --learning-rate 0.001 --seed "$repeat" \
          "${flags[@]}" -o "$record" >/dev/null
      done
    done
  done
done

python3 - "$out" "$models" "$counts" <<'PY' | tee "$out/overlap.txt"
import csv, glob, json, statistics, sys
out, models, counts = sys.argv[1], sys.argv[2].split(), sys.argv[3].split()
print("network         batch  processes  overlap  predicted step  measured (median)   spread of the runs    error")
errors = []
for entry in models:
    model, batch = entry.split(":")[0], int(entry.split(":")[1])
    for count in counts:
        for overlap in ("false", "true"):
            with open(f"{out}/overlap-predicted-{model}-{count}-{overlap}.csv", encoding="utf-8") as file:
                point = next(p for p in csv.DictReader(file) if p["gpus"] == count)
            images = batch * int(count)
            predicted = images / float(point["samples_per_s"])
            steps = sorted(images / json.load(open(path, encoding="utf-8"))["epochs"][0]["samples_per_s"]
                           for path in glob.glob(f"{out}/overlap-trained-{model}-{count}-{overlap}-*.json"))
            measured = statistics.median(steps)
            errors.append(abs(predicted / measured - 1))
            print(f"{model:15} {batch:5}  {count:>9}  {'yes' if overlap == 'true' else 'no':>7}  {1e3 * predicted:11,.2f} ms"
                  f"  {1e3 * measured:14,.2f} ms  {1e3 * steps[0]:8,.2f} to {1e3 * steps[-1]:8,.2f}"
                  f"  {100 * (predicted / measured - 1):+6.1f} %")
print(f"error: median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %")
PY
results/relative_paths.sh "$out" "$(dirname "$build")" "$root"
