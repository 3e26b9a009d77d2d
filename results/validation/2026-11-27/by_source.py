#!/usr/bin/env python3
"""by_source.py SUITE.json VALIDATION.json: errors of predicted rates, and of peak memory, source by source.

VALIDATION.json is what `validate --leave-out --json VALIDATION.json` writes: every record predicted by constants and bounds
of other sources. The error of a time is that of the rate which it is: published over predicted, less 1.
"""
import collections
import json
import statistics
import sys

RATES = {"step_time", "throughput", "throughput_per_gpu", "achieved_flops_per_gpu", "model_flops_per_gpu", "mfu", "hfu"}
MEMORY = {"peak_memory"}


def table(records, predicted, metrics, what):
    errors, inside, widths = (collections.defaultdict(list) for _ in range(3))
    asked = 0
    for one in predicted:
        record = records.get(one["id"])
        if record is None or record["metric"] not in metrics:
            continue
        asked += 1
        if one.get("unmapped"):
            continue
        source, published, value = record["source"], record["value"], one["predicted"]
        errors[source].append((published / value if record["metric"] == "step_time" else value / published) - 1)
        inside[source].append(one["low"] <= published <= one["high"])
        widths[source].append((one["high"] - one["low"]) / 2 / value)
    print(f"| Source | {what} | median error | bias | inside the bounds |\n|---|---|---|---|---|")
    for source in sorted(errors):
        of_source = errors[source]
        print(f"| {source} | {len(of_source)} | {100 * statistics.median(map(abs, of_source)):.1f} % "
              f"| {100 * statistics.median(of_source):+.1f} % | {100 * statistics.mean(inside[source]):.0f} % |")
    median = statistics.median(statistics.median(map(abs, of)) for of in errors.values())
    print(f"\n{sum(map(len, errors.values()))} of {asked} {what}, {len(errors)} sources: median {100 * median:.1f} %, "
          f"inside {100 * statistics.mean(statistics.mean(of) for of in inside.values()):.0f} %, "
          f"half width {100 * statistics.median(statistics.median(of) for of in widths.values()):.0f} %\n")


def main(suite, validation):
    with open(suite, encoding="utf-8") as file:
        records = {record["id"]: record for record in json.load(file)["records"]}
    with open(validation, encoding="utf-8") as file:
        predicted = [one for suite in json.load(file)["suites"] for one in suite["records"]]
    table(records, predicted, RATES, "rates")
    table(records, predicted, MEMORY, "peaks of memory")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
