#!/usr/bin/env python3
"""by_source.py SUITE.json PREDICTIONS.json: errors of predicted rates, source by source, and their median.

PREDICTIONS.json is what `simulate --predict SUITE.json --json PREDICTIONS.json` writes. The error of a time is that of the
rate which it is: published over predicted, less 1.
"""
import collections
import json
import statistics
import sys

RATES = {"step_time", "throughput", "throughput_per_gpu", "achieved_flops_per_gpu", "model_flops_per_gpu", "mfu", "hfu"}


def main(suite, predictions):
    with open(suite, encoding="utf-8") as file:
        records = {record["id"]: record for record in json.load(file)["records"]}
    with open(predictions, encoding="utf-8") as file:
        predicted = json.load(file)["predictions"]
    errors, inside, widths = (collections.defaultdict(list) for _ in range(3))
    asked = 0
    for one in predicted:
        record = records[one["id"]]
        if record["metric"] not in RATES:
            continue
        asked += 1
        if one.get("unmapped"):
            continue
        source, published, value = record["source"], record["value"], one["predicted"]
        errors[source].append((published / value if record["metric"] == "step_time" else value / published) - 1)
        inside[source].append(one["low"] <= published <= one["high"])
        widths[source].append((one["high"] - one["low"]) / 2 / value)
    print("| Source | rates | median error | bias | inside the bounds |\n|---|---|---|---|---|")
    for source in sorted(errors):
        of_source = errors[source]
        print(f"| {source} | {len(of_source)} | {100 * statistics.median(map(abs, of_source)):.1f} % "
              f"| {100 * statistics.median(of_source):+.1f} % | {100 * statistics.mean(inside[source]):.0f} % |")
    median = statistics.median(statistics.median(map(abs, of)) for of in errors.values())
    print(f"\n{sum(map(len, errors.values()))} of {asked} rates, {len(errors)} sources: median {100 * median:.1f} %, "
          f"inside {100 * statistics.mean(statistics.mean(of) for of in inside.values()):.0f} %, "
          f"half width {100 * statistics.median(statistics.median(of) for of in widths.values()):.0f} %")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
