#!/usr/bin/env bash
# run.sh TRAIN_PROGRAM OUT_DIR [search | runs | staleness | table]...: LeNet on MNIST on the host, one run at a time; see
# README.md. Needs ./bootstrap data; call it from the repository's root. A run whose record says that it has ended is
# not repeated; one that was cut off goes on from its checkpoint in OUT_DIR. SEED=2 repeats runs and staleness with
# another seed beside the first's: OUT_DIR/ssgd-seed-2.json.
set -euo pipefail
train=$1
out=$2
shift 2
threads=${THREADS:-2}
seed=${SEED:-1}

# run NAME FLAG...: one record, OUT_DIR/NAME.json.
run() {
  local name=$1 status=0
  shift
  mkdir -p "$(dirname "$out/$name")"
  if grep -q '"status": "\(target reached\|epochs done\|diverged\)"' "$out/$name.json" 2>/dev/null; then return; fi
  "$train" --quiet --model lenet --data mnist --threads "$threads" "$@" \
    --checkpoint "$out/$name.checkpoint" --resume -o "$out/$name.json" >"$out/$name.log" || status=$?
  rm -f "$out/$name.checkpoint"
  echo "$name: exit $status, $(tail -n 1 "$out/$name.log")"
}

# seeded NAME FLAG...: the same with the seed that was asked for.
seeded() {
  local name=$1
  shift
  if [ "$seed" = 1 ]; then run "$name" "$@"; else run "$name-seed-$seed" "$@" --seed "$seed"; fi
}

# Learning rates: two passes over the first 20,000 images, seed 100.
search() {
  local rate learners age
  for rate in 0.005 0.01 0.02 0.05; do
    run search/ssgd-$rate --train-images 20000 --epochs 2 --seed 100 --algorithm ssgd --batch 32 --learning-rate $rate
  done
  for rate in 0.02 0.05; do
    run search/sma-1-$rate --train-images 20000 --epochs 2 --seed 100 --algorithm sma --learners 1 --batch 16 \
      --learning-rate $rate
  done
  for learners in 2 4 8; do
    for rate in 0.05 0.1 0.2; do
      run search/sma-$learners-$rate --train-images 20000 --epochs 2 --seed 100 --algorithm sma --learners $learners \
        --batch 16 --learning-rate $rate
    done
  done
  for rate in 0.05 0.1; do
    run search/easgd-4-$rate --train-images 20000 --epochs 2 --seed 100 --algorithm easgd --learners 4 --batch 16 \
      --learning-rate $rate
  done
  for age in 0 20 50; do
    for rate in 0.001 0.005; do
      run search/stale-$age-$rate --train-images 20000 --epochs 2 --seed 100 --algorithm stale --staleness $age \
        --batch 32 --learning-rate $rate
    done
  done
}

# 99 % test accuracy, with a warm-up of one epoch everywhere.
runs() {
  local learners
  seeded ssgd --target 0.99 --epochs 30 --warmup-epochs 1 --algorithm ssgd --batch 32 --learning-rate 0.005
  for learners in 2 1 4; do
    seeded sma-$learners --target 0.99 --epochs 30 --warmup-epochs 1 --algorithm sma --learners $learners --batch 16 \
      --learning-rate 0.05
  done
  seeded easgd-4 --target 0.99 --epochs 30 --warmup-epochs 1 --algorithm easgd --learners 4 --batch 16 \
    --learning-rate 0.05
  seeded sma-8 --target 0.99 --epochs 30 --warmup-epochs 1 --algorithm sma --learners 8 --batch 16 --learning-rate 0.05
}

# The same but for the staleness: plain SGD, fixed age of the gradients after a ramp over 3 epochs, rate to 0 at the end.
staleness() {
  local age
  for age in 0 20 50; do
    seeded stale-$age --epochs 8 --algorithm stale --staleness $age --staleness-ramp-epochs 3 --batch 32 --momentum 0 \
      --learning-rate 0.01 --schedule linear --linear-from 4
  done
}

# The records so far, as README.md shows them.
table() {
  local record
  key() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" "$record"; }
  printf '%-20s %-15s %7s %10s %9s %9s\n' record status epochs seconds best final
  for record in "$out"/*.json "$out"/search/*.json; do
    printf '%-20s %-15s %7s %10.7s %9s %9s\n' "$(basename "$record" .json)" "$(key status)" "$(key epochs_to_target)" \
      "$(key seconds_to_target)" "$(key best_test_accuracy)" "$(key final_test_accuracy)"
  done
}

if [ $# -eq 0 ]; then set -- search runs staleness; fi
for part in "$@"; do "$part"; done
