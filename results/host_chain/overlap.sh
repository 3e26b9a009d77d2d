#!/usr/bin/env bash
# overlap.sh BUILD OUT: does what `simulate` says overlaps overlap? On this machine's processor: calibrates networks on as
# many processes as it then predicts and trains, S-SGD with its gradients sent after the pass and, in buckets, during it.
# Trainings of all take turns, REPEATS times (5). Waits for a machine that does nothing else (ANY_LOAD=1: it does not).
# Called again it goes on where it was interrupted. With two processes some eight minutes.
#   NETWORKS             name:batch (lenet:16 resnet32_crossbow:16 vgg16_cifar100:8)
#   PROCESSES            numbers of processes of one thread (2, and 3 where there are three cores)
#   SECONDS_PER_SERIES   longest time of one series of samples (0.6)
#   SECONDS_PER_RUN      of the second epoch of a training, about (3)
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cd "$here/../.."
usual=2
if [ "$(nproc)" -ge 3 ]; then usual="2 3"; fi
read -ra networks <<<"${NETWORKS:-lenet:16 resnet32_crossbow:16 vgg16_cifar100:8}"
read -ra all_processes <<<"${PROCESSES:-$usual}"
bucket_bytes=1048576
mpi=(mpirun --bind-to none)
if [ "$(id -u)" = 0 ]; then mpi+=(--allow-run-as-root); fi

. results/wait_for_quiet.sh

# join WORD...: with commas.
join() { local IFS=,; echo "$*"; }

wait_for_quiet
mapfile -t batches < <(printf '%s\n' "${networks[@]#*:}" | sort -un)
for processes in "${all_processes[@]}"; do
  profile=$out/profile-$processes
  [[ -e "$profile.json" ]] && continue
  "${mpi[@]}" -n "$processes" "$build/calibrate" --device host --threads 1 --models "$(join "${networks[@]%:*}")" \
    --batches "$(join "${batches[@]}")" --probes iteration,collective,layer,overlap --most-bytes 67108864 \
    --seconds "${SECONDS_PER_SERIES:-0.6}" --resume --quiet -o "$profile.json"
done

# Gradients after the pass are one all-reduce of all; in buckets each goes as soon as it is full.
for processes in "${all_processes[@]}"; do
  scenario=$out/scenario-$processes.json
  "$build/calibrate" scenario "$out/profile-$processes.json" --batch "${batches[0]}" -o "$scenario" >/dev/null
  for network in "${networks[@]}"; do
    for when in after during; do
      overlap=false threshold="1 TB"
      if [ $when = during ]; then overlap=true threshold="$bucket_bytes B"; fi
      "$build/simulate" "$scenario" --quiet --set /model="${network%:*}" --set /batch_per_gpu="${network#*:}" \
        --set /compute/profile_input=synthetic \
        --set /gpus="[$processes]" --set /baseline/gpus="$processes" --set /communication/overlap=$overlap \
        --set /communication/fusion=threshold --set /communication/fusion_threshold="$threshold" \
        --set /communication/all_reduce=profile-average --csv "$out/predicted-${network%:*}-$processes-$when.csv" >/dev/null
    done
  done
done

# train NETWORK PROCESSES WHEN REPEAT: three epochs of about SECONDS_PER_RUN, the first of which sets things up.
train() {
  local model=${1%:*} batch=${1#*:} processes=$2 when=$3 repeat=$4 images buckets=()
  local record=$out/trained-$model-$processes-$when-$repeat.json
  [[ -e "$record" ]] && return
  if [ "$when" = during ]; then buckets=(--bucket-bytes $bucket_bytes); fi
  images=$(python3 -c "
import csv, sys
row = next(csv.DictReader(open('$out/predicted-$model-$processes-after.csv')))
at_once = $batch * $processes
iterations = max(4, round(${SECONDS_PER_RUN:-3} / float(row['iteration_s/mean'])))
print(at_once * min(iterations, 10000 // at_once))  # synthetic images are 10,000")
  "${mpi[@]}" -n "$processes" "$build/train" --quiet --model "$model" --data synthetic --train-images "$images" \
    --test-images 16 --algorithm s-sgd --batch "$batch" --threads 1 --epochs 3 --learning-rate 0.001 --seed "$repeat" \
    "${buckets[@]}" -o "$record" >/dev/null
}
for repeat in $(seq "${REPEATS:-5}"); do
  for processes in "${all_processes[@]}"; do
    for network in "${networks[@]}"; do
      for when in after during; do train "$network" "$processes" "$when" "$repeat"; done
    done
  done
done
python3 "$here/overlap_table.py" "$out" | tee "$out/overlap.txt"
results/relative_paths.sh "$out" "$(dirname "$build")" "$PWD" "$out"
