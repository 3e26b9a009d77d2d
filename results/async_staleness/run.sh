#!/usr/bin/env bash
# run.sh BUILD OUT: how stale gradients are of processes that train at their own pace, beside what `simulate` predicts.
# LeNet by 2 and 3 processes of one thread, asynchronous SGD and elastic averaging; workers' speeds are what this machine
# gives them. Some three minutes on a machine that does nothing else.
#   PROCESSES   numbers of processes (2 3)
#   IMAGES      of an epoch (10000); three epochs are counted
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cd "$here/../.."
read -ra all_processes <<<"${PROCESSES:-2 3}"
mpi=(mpirun --bind-to none --oversubscribe)
if [ "$(id -u)" = 0 ]; then mpi+=(--allow-run-as-root); fi

for processes in "${all_processes[@]}"; do
  for algorithm in async-sgd async-easgd; do
    own_pace=()
    if [ $algorithm = async-sgd ]; then own_pace=(--own-pace --momentum 0); fi
    record=$out/$algorithm-$processes.json
    [[ -e "$record" ]] && continue
    "${mpi[@]}" -n "$processes" "$build/train" --quiet --model lenet --data synthetic --train-images "${IMAGES:-10000}" \
      --test-images 500 --algorithm $algorithm "${own_pace[@]}" --batch 16 --threads 1 --epochs 3 --learning-rate 0.01 \
      -o "$record"
  done
done

# As many equal workers around parameters on the first one's machine, with steps that vary as a lognormal does.
for processes in "${all_processes[@]}"; do
  for sigma in 0.05 0.3; do
    python3 "$here/scenario.py" scenarios/lenet_host.json "$out/async-sgd-$processes.json" "$processes" $sigma \
      >"$out/scenario.json"
    "$build/simulate" "$out/scenario.json" --quiet --json "$out/predicted-$processes-$sigma.json" >/dev/null
  done
done
rm -f "$out/scenario.json"
python3 "$here/table.py" "$out" | tee "$out/table.txt"
results/relative_paths.sh "$out" "$(dirname "$build")" "$PWD"
