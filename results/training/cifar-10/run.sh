#!/usr/bin/env bash
# run.sh BUILD OUT_DIR [SEED]...: ResNet-20 on CIFAR-10 on the host, one run at a time (seeds 1 2 3), and the convergence
# profile and learning curves of all that have ended. Needs ./bootstrap data cifar-10; call it from the repository's root. What
# has ended is not repeated; a run that was cut off goes on from its checkpoint in OUT_DIR, of at most three minutes ago.
# THREADS: of a run (1). NICE: of its processes (0).
#
# He et al. 2016, section 4.2: batch 128, rate 0.1, momentum 0.9, images moved by up to 4 pixels and mirrored. In 30 epochs in
# place of 164: Nesterov's momentum, a decay of 5e-4 of weights (1e-4 in the paper, for five times the epochs), and after one
# epoch of warm-up a rate that falls to 0 by half a cosine.
set -euo pipefail
build=$1
out=$2
shift 2
if [ $# -eq 0 ]; then set -- 1 2 3; fi
mkdir -p "$out"
for seed in "$@"; do
  name=$out/resnet20-$seed
  if grep -q '"status": "\(epochs done\|diverged\)"' "$name.json" 2>/dev/null; then continue; fi
  nice -n "${NICE:-0}" "$build/train" --quiet --model resnet20_cifar --data cifar-10 --data-dir "${DATA_DIR:-build/data}" \
    --augment --algorithm s-sgd --batch 128 --optimizer nesterov --learning-rate 0.1 --momentum 0.9 --weight-decay 0.0005 \
    --schedule cosine --warmup-epochs 1 --epochs 30 --target 0.9 --stop never --threads "${THREADS:-1}" --seed "$seed" \
    --checkpoint "$name.checkpoint" --checkpoint-minutes 3 --resume -o "$name.json"
done
"$build/train" plot "$out"/resnet20-*.json -o "$out/curves.svg" --csv "$out/curves.csv"
"$build/simulate" convergence "$out"/resnet20-*.json --name "ResNet-20 on CIFAR-10 to 90 %" -o "$out/resnet20_cifar10.json"
