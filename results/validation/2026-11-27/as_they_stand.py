#!/usr/bin/env python3
"""Records as their publications state them against the same records as the suites state them: median errors by source.

usage: as_they_stand.py RECORDS.json PREDICTIONS.json VALIDATION.txt

RECORDS.json      published results, an array in the keys of sim/validation/record.hpp, nothing filled in by hand
PREDICTIONS.json  simulate --predict RECORDS.json --json PREDICTIONS.json
VALIDATION.txt    what validate printed
"""
import collections
import json
import re
import statistics
import sys

ROW = re.compile(r"\s+(?:fit|test)\s+(\S+)\s+\S+\s+\S+ published\s+\S+\s+(-?[\d.]+) %")


def main(records, predictions, validation):
    with open(predictions) as file:
        predicted = {p["id"]: p["predicted"] for p in json.load(file)["predictions"] if "predicted" in p}
    with open(validation) as file:
        of_suite = {m[1]: abs(float(m[2])) for m in map(ROW.match, file) if m}
    with open(records) as file:
        rows = json.load(file)
    errors = collections.defaultdict(list)
    for row in rows:
        if row["id"] in predicted and row["id"] in of_suite and row.get("value"):
            off = 100 * abs(predicted[row["id"]] / row["value"] - 1)
            errors[row["source"], row["metric"]].append((off, of_suite[row["id"]]))
    print("| Source | metric | records | as it stands | as the suite states it |\n|---|---|---:|---:|---:|")
    for (source, metric), pairs in sorted(errors.items()):
        alone, suite = (statistics.median(column) for column in zip(*pairs))
        print(f"| {source} | {metric} | {len(pairs)} | {alone:.1f} % | {suite:.1f} % |")
    print(f"\n{len(rows) - len(predicted)} of {len(rows)} records are not predicted.")


if __name__ == "__main__":
    main(*sys.argv[1:])
