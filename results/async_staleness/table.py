#!/usr/bin/env python3
"""table.py OUT: measured beside predicted staleness of what run.sh has left in OUT."""
import glob
import json
import os
import re
import sys

out = sys.argv[1]
ages = 6  # columns; the last holds all older ones


def load(name):
    with open(os.path.join(out, name), encoding="utf-8") as file:
        return json.load(file)


def row(what, processes, histogram):
    count = sum(n for _, n in histogram)
    share = [0.0] * ages
    for age, n in histogram:
        share[min(int(age), ages - 1)] += 100 * n / count
    mean = sum(age * n for age, n in histogram) / count
    print(f"{processes:9}  {what:32} {mean:6.2f}   " + " ".join(f"{s:6.1f}" for s in share)
          + f"   {max(int(a) for a, _ in histogram):5}  {count:8}")


print("processes  what                               mean   share of age, %: 0   1      2      3      4     5+     oldest  meetings")
numbers = sorted({int(re.search(r"-(\d+)\.json$", p)[1]) for p in glob.glob(os.path.join(out, "async-sgd-*.json"))})
for processes in numbers:
    for algorithm in ("async-sgd", "async-easgd"):
        merged = {}
        for epoch in load(f"{algorithm}-{processes}.json")["epochs"]:
            for age, n in epoch["staleness"]["histogram"]:
                merged[age] = merged.get(age, 0) + n
        row(f"{algorithm}, measured", processes, sorted(merged.items()))
    for sigma in ("0.05", "0.3"):
        point = load(f"predicted-{processes}-{sigma}.json")["points"][0]
        row(f"async-sgd, predicted, sigma {sigma}", processes, point["details"]["staleness"][-1]["histogram"])
