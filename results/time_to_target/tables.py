#!/usr/bin/env python3
"""Writes the tables of README.md in this folder: errors of every law of time to a target, on runs it was not fitted to.

usage: results/time_to_target/tables.py BUILD [--check]   (needs BUILD/simulate; --check only compares)
"""
import csv
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VISION = [("LeNet (Caffe's), MNIST to 95, 96, 97 %", "lenet_mnist.json"),
          ("LeNet (Crossbow's), MNIST to 97 to 99 %", "lenet_mnist_99.json"),
          ("LeNet with local SGD, MNIST to 95 to 97 %", "lenet_mnist_local.json"),
          ("LeNet, stale gradients, MNIST to 95 to 97 %", "lenet_mnist_stale.json"),
          ("ResNet-8, Fashion-MNIST to 84 to 89 %", "resnet8_fashion.json"),
          ("ResNet-50, ImageNet to 75.9 %: MLPerf's submissions", "resnet50_lars_mlperf.json")]
VARIABLES = {"batch": "S-SGD by batch", "learners": "SMA, EA-SGD by learners", "tau": "by iterations between averages",
             "staleness": "by age of gradients"}
CELL = re.compile(r"^(\S+)\s+(batch|learners|tau|staleness)\s+\S+ .*?([+-][\d.]+) %\s+(\d+)/(\d+)$")
# Table of runs, and the law from which its own fit starts.
LAW_TABLES = {"chinchilla.csv": "besiroglu_2024", "step_law.csv": "besiroglu_2024", "gadre_c4.csv": "chinchilla",
              "gadre_redpajama.csv": "chinchilla", "gadre_refinedweb.csv": "chinchilla"}
CROSS = [("step_law.csv", "chinchilla"), ("gadre_c4.csv", "chinchilla"), ("gadre_redpajama.csv", "chinchilla"),
         ("gadre_refinedweb.csv", "chinchilla"), ("chinchilla.csv", "step_law")]
SMALL_BATCH = 1000  # tokens, of runs whose batch is not known


def run(build, *arguments):
    return subprocess.run([str(build / "simulate"), *map(str, arguments)], check=True, capture_output=True, text=True,
                          cwd=ROOT).stdout


def percent(x):
    return f"{100 * x:.1f} %"


def vision_rows(build):
    for title, file in VISION:
        cells = {}
        for line in run(build, "convergence", ROOT / "scenarios/convergence" / file, "--quiet").splitlines():
            if match := CELL.match(line):
                cells.setdefault(match[2], []).append((abs(float(match[3])) / 100, int(match[4]), int(match[5])))
        for variable, found in cells.items():
            inside, runs = sum(c[1] for c in found), sum(c[2] for c in found)
            yield [title, VARIABLES[variable], len(found), percent(statistics.median(c[0] for c in found)),
                   f"{inside} of {runs}"]


def mlperf_rows(build):
    text = run(build, "convergence", "--mlperf", "all")
    for line in text.splitlines()[1:]:
        words = re.split(r"\s{2,}", line.strip())
        if len(words) == 7:
            yield words
        elif words[0] == "all":
            yield ["all", "", "", *words[1:]]


def mlperf_notes(build):
    return [line for line in run(build, "convergence", "--mlperf", "all").splitlines() if line.startswith("Not counted")]


def size_rows(build):
    for file, start in LAW_TABLES.items():
        text = run(build, "loss", "--fit", ROOT / "scenarios/loss" / file, "--loss-law", start)
        tokens, loss_error, inside, of = re.search(
            r"median error ([\d.]+) %, of the loss ([\d.]+) %; (\d+) of (\d+)", text).groups()
        ratios = [float(p) / float(m) for m, p in re.findall(r"critical batch ([\d.]+)M, predicted ([\d.]+)M", text)]
        factors = [max(r, 1 / r) for r in ratios]
        yield [file, f"{tokens} %", f"{loss_error} %", f"{inside} of {of} ({100 * int(inside) / int(of):.0f} %)",
               f"{statistics.median(factors):.2f}, at most {max(factors):.2f} ({len(factors)} pairs)" if factors else "-"]


def read_points(file, law):
    """Runs of a table, without batches smaller than the best one of their size and tokens."""
    rows = [{k: float(v) for k, v in row.items() if v} for row in
            csv.DictReader(line for line in open(ROOT / "scenarios/loss" / file) if not line.startswith("#"))]
    best = {}
    for row in rows:
        key = row["parameters"], row["tokens"]
        if key not in best or row["loss"] < best[key]["loss"]:
            best[key] = row
    return [row for row in rows if row.get("batch_tokens", 0) >= best[row["parameters"], row["tokens"]].get("batch_tokens", 0)]


def critical(law, minimal):
    return law["critical_batch"]["at_1e10_tokens"] * (minimal / 1e10) ** law["critical_batch"]["exponent"]


def minimal_tokens(law, tokens, batch):
    low, high = 1e-9 * tokens, tokens
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if middle * (1 + batch / critical(law, middle)) < tokens else (low, middle)
    return high


def loss(law, row):
    minimal = minimal_tokens(law, row["tokens"], row.get("batch_tokens", 0))
    return law["E"] + law["A"] / row["parameters"] ** law["alpha"] + law["B"] / minimal ** law["beta"]


def tokens_to(law, parameters, target, batch):
    term = target - law["E"] - law["A"] / parameters ** law["alpha"]
    if term <= 0:
        return math.inf
    minimal = (law["B"] / term) ** (1 / law["beta"])
    return minimal * (1 + batch / critical(law, minimal))


def factor(predicted, measured):
    return max(predicted / measured, measured / predicted)


def errors_of(law, rows):
    losses = [abs(loss(law, row) / row["loss"] - 1) for row in rows]
    tokens = [factor(tokens_to(law, row["parameters"], row["loss"], row.get("batch_tokens", 0)), row["tokens"])
              for row in rows]
    return losses, tokens


def fit_law(build, rows, start, folder):
    runs, law = folder / "runs.csv", folder / "law.json"
    columns = ["parameters", "tokens", "batch_tokens", "loss"]
    runs.write_text("\n".join([",".join(columns)] + [",".join(str(row.get(c, "")) for c in columns) for row in rows]))
    run(build, "loss", "--fit", runs, "--loss-law", start, "-o", law)
    return law


def count_inside(build, law, rows):
    """Losses inside the 80 % interval of a law."""
    inside = 0
    groups = {}
    for row in rows:
        groups.setdefault((row["parameters"], row.get("batch_tokens", SMALL_BATCH)), []).append(row)
    for (parameters, batch), group in groups.items():
        answer = json.loads(run(build, "loss", "--loss-law", law, "--parameters", f"{parameters:.0f}", "--batch-tokens",
                                f"{batch:.0f}", "--tokens", ",".join(f"{row['tokens']:.0f}" for row in group), "--json",
                                "-"))
        for row in group:
            found = min(answer["rows"], key=lambda one: abs(one["tokens"]["value"] - row["tokens"]))
            inside += found["loss"]["low"] <= row["loss"] <= found["loss"]["high"]
    return inside


def cross_rows(build):
    """A table by the law of another one: as it is, with its level E moved to one run, and fitted to the cheapest runs."""
    laws = {one["id"]: one for one in json.loads((ROOT / "scenarios/catalogue/loss_laws.json").read_text())["laws"]}
    for file, law_name in CROSS:
        law = laws[law_name]
        points = sorted(read_points(file, law), key=lambda row: row["parameters"] * row["tokens"])
        tries = [("nothing", [errors_of(law, points)], "-"), ("one run, each in turn", [], "-")]
        for anchor in points:
            moved = dict(law, E=law["E"] + anchor["loss"] - loss(law, anchor))
            tries[1][1].append(errors_of(moved, [row for row in points if row is not anchor]))
        with tempfile.TemporaryDirectory() as folder:
            for count in (3, 10):
                others = points[count:]
                path = fit_law(build, points[:count], law_name, pathlib.Path(folder))
                tries.append((f"the {count} cheapest runs", [errors_of(json.loads(path.read_text()), others)],
                              f"{count_inside(build, path, others)} of {len(others)}"))
        for name, errors, inside in tries:
            losses = [x for one in errors for x in one[0]]
            tokens = [x for one in errors for x in one[1]]
            yield [file, law_name, name, percent(statistics.median(losses)), f"{statistics.median(tokens):.2f}", inside]


def table(head, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    tables = {
        "mlperf": table(["Network", "Points", "Runs", "Leave-one-batch-out error", "Inside 80 %", "Error when fitted to "
                         "older rounds", "Inside 80 %"], mlperf_rows(build)),
        "new-settings": "\n".join(textwrap.fill(f"- {line}", 120, subsequent_indent="  ") for line in mlperf_notes(build)),
        "vision": table(["Runs", "Law", "Cells and targets", "Median error", "Inside 80 %"], vision_rows(build)),
        "sizes": table(["Table", "Tokens to the loss, median error", "Loss, median error", "Losses inside 80 %", "Critical batch, factor"],
                       size_rows(build)),
        "cross": table(["Table predicted", "Law", "Fitted to these runs of the table", "Loss, median error", "Tokens to the loss, median factor",
                        "Losses inside 80 %"],
                       cross_rows(build)),
    }
    page = before = (HERE / "README.md").read_text()
    for name, text in tables.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.S)
        page, count = pattern.subn(lambda m: m[1] + text + "\n" + m[2], page)
        if count != 1:
            sys.exit(f"README.md: no place for the table {name}")
    if "--check" in sys.argv and page != before:
        sys.exit("results/time_to_target/README.md: its tables are not today's; run results/time_to_target/tables.py BUILD")
    (HERE / "README.md").write_text(page)


if __name__ == "__main__":
    main()
