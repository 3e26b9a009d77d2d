#!/usr/bin/env bash
# throughput.sh TRAIN_PROGRAM OUT.csv: images per second of processor time by the number of SMA learners, for the
# trade-off curves. One thread; processor time rather than the clock's, so that other work on the machine counts little.
# The time of a run on 16 images (set-up, evaluation) is taken off. Needs ./bootstrap data.
set -euo pipefail
train=$1
out=$2
images=${IMAGES:-9600}

# cpu_s FLAG...: user and system seconds of one run.
cpu_s() {
  local TIMEFORMAT='%U %S'
  { time "$train" --quiet --model "${MODEL:-lenet}" --data mnist --test-images 16 --threads 1 --algorithm sma --batch 16 \
    --learning-rate 0.01 --epochs 1 "$@" >/dev/null; } 2>&1 | awk '{printf "%.3f\n", $1 + $2}'
}

echo "learners,images_per_cpu_s" >"$out.part"
for learners in 1 2 4 8 16; do
  empty=$(cpu_s --learners "$learners" --train-images $((16 * learners)))
  full=$(cpu_s --learners "$learners" --train-images "$images")
  awk -v m="$learners" -v n=$((images - 16 * learners)) -v s="$full" -v e="$empty" \
    'BEGIN {printf "%d,%.0f\n", m, n / (s - e)}' >>"$out.part"
done
mv "$out.part" "$out"
