"""compare.py BUILD OUT: predicts from each OUT/NETWORK-PROCESSES.jsonl without its middle batch and without DDP's steps, and
prints what was held out beside the predictions: by all else that was measured, and by one process and the all-reduces
alone."""
import glob
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

BUILD, OUT = sys.argv[1:]
HELD_OUT_BATCH = 16
GOAL_MEDIAN, GOAL_WORST, GOAL_INSIDE = 0.08, 0.15, 0.8


def entries_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def series_of(entries):
    """Times by probe and key; of a series that was measured again the later."""
    declared, found = {}, {}
    for entry in entries:
        if "series" in entry:
            declared[entry["series"]] = (entry["probe"], json.dumps(entry["key"], sort_keys=True))
            found[declared[entry["series"]]] = []
        if "at" in entry:
            found[declared[entry["at"]]].append(entry["seconds"])
    return {what: seconds for what, seconds in found.items() if seconds}


def seconds_of(series, probe, **wanted):
    for (name, key), seconds in series.items():
        members = json.loads(key)
        if name == probe and all(members.get(k) == v for k, v in wanted.items()):
            return seconds
    return None


def is_held_out(entry):
    is_exchange = entry["probe"] == "step" and entry["key"]["ranks"] > 1
    return is_exchange or entry["key"].get("batch") == HELD_OUT_BATCH


def is_of_one_process(entry):
    """Iterations of one process, and what all sum; nothing that ran beside others."""
    return entry["probe"] in ("collective", "update", "pass") or entry["key"].get("devices") == 1


def calibration(entries, to, keeps):
    dropped = {e["series"] for e in entries if "series" in e and (is_held_out(e) or not keeps(e))}
    with open(to, "w", encoding="utf-8") as kept:
        for entry in entries:
            number = next((entry[k] for k in ("series", "at", "pass", "done") if k in entry), None)
            if number not in dropped:
                kept.write(json.dumps(entry, separators=(",", ":")) + "\n")


def interval(seconds):
    """Ends of the 95 % interval of the median by order statistics."""
    x, n, k, below = sorted(seconds), len(seconds), 0, 0.0
    while k < n // 2 and 2 * (below + math.comb(n, k) * 0.5 ** n) <= 0.05:
        below += math.comb(n, k) * 0.5 ** n
        k += 1
    k = max(k, 1)
    return x[k - 1], x[n - k]


def run(*words):
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stderr.strip() or f"{words[0]} failed"


def must(*words):
    why = run(*words)
    if why:
        sys.exit(f"{' '.join(map(str, words))}\n{why}")


def predicted(scenario, folder, processes, batch):
    """(seconds, at least, at most), or why not."""
    result = os.path.join(folder, "result.json")
    why = run(f"{BUILD}/simulate", scenario, "--quiet", "--gpus", processes, "--set", f"/batch_per_gpu={batch}", "--json", result)
    if why:
        return why
    with open(result, encoding="utf-8") as file:
        p = json.load(file)["points"][0]
    return tuple(p["global_batch"] / p[rate] for rate in ("samples_per_s", "samples_per_s_high", "samples_per_s_low"))


class Score:
    def __init__(self, name):
        self.name, self.errors, self.inside, self.refused = name, [], 0, 0

    def take(self, prediction, measured):
        """The error as a cell of the table."""
        if isinstance(prediction, str):
            self.refused += 1
            return "refused"
        middle, (low, high) = statistics.median(measured), interval(measured)
        error = prediction[0] / middle - 1
        self.errors.append(abs(error))
        self.inside += prediction[1] <= high and prediction[2] >= low
        return f"{100 * error:+6.1f} %"

    def text(self):
        if not self.errors:
            return f"{self.name}: nothing was predicted"
        median, worst, count = statistics.median(self.errors), max(self.errors), len(self.errors)
        is_met = median <= GOAL_MEDIAN and worst <= GOAL_WORST and self.inside >= GOAL_INSIDE * count and self.refused == 0
        return (f"{self.name}: {count} held out, median error {100 * median:.1f} % (goal 8), worst {100 * worst:.1f} % "
                f"(goal 15), bounds meet the interval in {self.inside} (goal four of five), {self.refused} refused: goals "
                f"{'met' if is_met else 'not met'}")


def held_out(series, processes):
    """(processes, batch, seconds) of what no calibration sees."""
    found = [(1, HELD_OUT_BATCH, seconds_of(series, "iteration", devices=1, batch=HELD_OUT_BATCH))]
    batches = sorted({json.loads(key)["batch"] for probe, key in series if probe == "step"})
    found += [(processes, b, seconds_of(series, "step", how="ddp", ranks=processes, batch=b)) for b in batches]
    return [one for one in found if one[2]]


def main():
    scores = [Score("all that was measured"), Score("one process and all-reduces")]
    paths = sorted(glob.glob(f"{OUT}/*-*.jsonl"))
    if not paths:
        sys.exit(f"{OUT}: no NETWORK-PROCESSES.jsonl; run.sh writes them")
    print("network   batch  processes  predicted    bounds              measured     its interval        error   from one")
    for path in paths:
        network, processes = os.path.basename(path)[:-len(".jsonl")].rsplit("-", 1)
        entries = entries_of(path)
        with tempfile.TemporaryDirectory() as folder:
            scenarios = []
            for name, keeps in (("all", lambda entry: True), ("one", is_of_one_process)):
                part, profile = f"{folder}/{network}.{name}.jsonl", f"{folder}/{name}.json"
                scenarios.append(f"{folder}/{name}.scenario.json")
                calibration(entries, part, keeps)
                must(f"{BUILD}/calibrate", "import", "torch-probe", part, "-o", profile)
                must(f"{BUILD}/calibrate", "scenario", profile, "-o", scenarios[-1])
            for count, batch, measured in held_out(series_of(entries), int(processes)):
                predictions = [predicted(scenario, folder, count, batch) for scenario in scenarios]
                errors = [score.take(p, measured) for score, p in zip(scores, predictions)]
                middle, (low, high) = statistics.median(measured), interval(measured)
                shown = predictions[0]
                times = ("      refused                        " if isinstance(shown, str) else
                         f"{1e3 * shown[0]:7.1f} ms  {1e3 * shown[1]:7.1f} to {1e3 * shown[2]:7.1f}")
                print(f"{network:9} {batch:5}  {count:9}  {times}  {1e3 * middle:7.1f} ms  {1e3 * low:7.1f} to "
                      f"{1e3 * high:7.1f}  {errors[0]:>8}  {errors[1]:>8}")
    for path in paths:
        facts = entries_of(path)[0]["run"]
        print(f"{os.path.basename(path)}: {facts['device']}, load {facts.get('load', 'unknown')} when it began")
    for score in scores:
        print(score.text())


main()
