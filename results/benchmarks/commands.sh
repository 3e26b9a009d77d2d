#!/usr/bin/env bash
# commands.sh BUILD_DIR OUT: seconds of whole commands, three times each, to OUT and standard output. Leave the machine
# quiet. The plan of 10,368 points, and backup workers on 212 machines, after back-propagation and beside it (40 updates;
# the replay alone, as its result has it).
set -euo pipefail
build=$(realpath "$1")
out=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for _ in 1 2 3; do
  rm -f "$work"/plan*
  start=$(date +%s.%N)
  "$build/plan" results/benchmarks/plan_10368.json --quiet --json "$work/plan.json" >/dev/null 2>&1
  end=$(date +%s.%N)
  for overlap in false true; do
    "$build/simulate" scenarios/published/revisiting-sync-sgd/machines.json --quiet --jobs 1 --set /iterations=40 \
      --set /communication/overlap=$overlap --json "$work/overlap-$overlap.json" >/dev/null
  done
  python3 - "$work" "$start" "$end" <<'PY'
import json, sys
work, start, end = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
points = len(json.load(open(f"{work}/plan.json"))["points"])
def replay_s(overlap):
  return [p["simulation"]["wall_s"] for p in json.load(open(f"{work}/overlap-{overlap}.json"))["points"]
          if p.get("variant") == "212 machines, 12 backups"][0]
print(f"plan of {points} points: {end - start:.1f} s    212 machines, 12 backups, 40 updates: {replay_s('false'):.2f} s, "
      f"with overlap {replay_s('true'):.2f} s")
PY
done | tee "$out"
