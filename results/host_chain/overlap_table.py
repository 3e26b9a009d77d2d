#!/usr/bin/env python3
"""overlap_table.py OUT: predicted beside measured steps of what overlap.sh has left in OUT."""
import csv
import glob
import json
import os
import re
import statistics
import sys

out = sys.argv[1]
rows = {}
for path in glob.glob(os.path.join(out, "trained-*.json")):
    model, processes, when, _ = re.fullmatch(r"trained-(.+)-(\d+)-(after|during)-(\d+)\.json", os.path.basename(path)).groups()
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    images = record["options"]["batch"] * record["options"].get("processes", 1)
    # The first epoch plans convolutions and touches memory for the first time.
    rows.setdefault((model, int(processes), when), []).extend(
        images / epoch["samples_per_s"] for epoch in record["epochs"][1:])

errors = []
print("network             processes  gradients  predicted ms  measured ms (spread)        error")
for (model, processes, when), steps in sorted(rows.items()):
    with open(os.path.join(out, f"predicted-{model}-{processes}-{when}.csv"), encoding="utf-8") as file:
        predicted = float(next(csv.DictReader(file))["iteration_s/mean"])
    measured = statistics.median(steps)
    errors.append(100 * (predicted / measured - 1))
    print(f"{model:20}{processes:8}   {when:9}  {1e3 * predicted:11.2f}  {1e3 * measured:8.2f} "
          f"({1e3 * min(steps):.2f} to {1e3 * max(steps):.2f})   {errors[-1]:+7.1f} %")
sizes = sorted(map(abs, errors))
print(f"\nmedian {statistics.median(sizes):.1f} %, worst {sizes[-1]:.1f} % of {len(sizes)}")
