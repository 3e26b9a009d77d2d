"""compare.py BUILD OUT: predicts from each OUT/*.jsonl without its middle batch and without DDP's steps, and prints what was
held out beside the predictions."""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

BUILD, OUT = sys.argv[1:]
HELD_OUT_BATCH = 16


def series_of(path):
    """Times by probe and key; of a series that was measured again the later."""
    declared, found = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if "series" in entry:
                declared[entry["series"]] = (entry["probe"], json.dumps(entry["key"], sort_keys=True))
                found[declared[entry["series"]]] = []
            if "at" in entry:
                found[declared[entry["at"]]].append(entry["seconds"])
    return {(probe, key): seconds for (probe, key), seconds in found.items() if seconds}


def seconds_of(series, probe, **wanted):
    for (name, key), seconds in series.items():
        members = json.loads(key)
        if name == probe and all(members.get(k) == v for k, v in wanted.items()):
            return seconds
    return None


def calibration(path, to):
    """The file without what is predicted."""
    dropped = set()
    with open(path, encoding="utf-8") as file, open(to, "w", encoding="utf-8") as kept:
        for line in file:
            entry = json.loads(line)
            if "series" in entry and (entry["probe"] == "step" or entry["key"].get("batch") == HELD_OUT_BATCH):
                dropped.add(entry["series"])
            number = next((entry[k] for k in ("series", "at", "pass", "done") if k in entry), None)
            if number not in dropped:
                kept.write(line)


def interval(seconds):
    """Ends of the 95 % interval of the median by order statistics."""
    import math
    x, n, k, below = sorted(seconds), len(seconds), 0, 0.0
    while k < n // 2 and 2 * (below + math.comb(n, k) * 0.5 ** n) <= 0.05:
        below += math.comb(n, k) * 0.5 ** n
        k += 1
    k = max(k, 1)
    return x[k - 1], x[n - k]


def run(*words):
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{result.stderr}")


def predicted(scenario, folder, batch, *settings):
    """{processes: (seconds, at least, at most)}"""
    result = os.path.join(folder, "result.json")
    words = [f"{BUILD}/simulate", scenario, "--quiet", "--set", f"/batch_per_gpu={batch}", "--json", result]
    for setting in settings:
        words += ["--set", setting]
    run(*words)
    with open(result, encoding="utf-8") as file:
        points = json.load(file)["points"]
    return {p["gpus"]: tuple(p["global_batch"] / p[rate] for rate in ("samples_per_s", "samples_per_s_high", "samples_per_s_low"))
            for p in points}


def main():
    print("network   batch  processes  predicted    bounds              measured     its interval        error  without overlap")
    errors, inside = [], []
    for path in sorted(glob.glob(f"{OUT}/*.jsonl")):
        network = os.path.basename(path)[:-len(".jsonl")]
        series = series_of(path)
        profile, scenario = f"{OUT}/{network}.json", f"{OUT}/{network}.scenario.json"
        with tempfile.TemporaryDirectory() as folder:
            part = os.path.join(folder, f"{network}.jsonl")
            calibration(path, part)
            run(f"{BUILD}/calibrate", "import", "torch-probe", part, "-o", profile)
            run(f"{BUILD}/calibrate", "scenario", profile, "-o", scenario)
            for batch in sorted({json.loads(key)["batch"] for probe, key in series if probe == "step"}):
                both = predicted(scenario, folder, batch)
                apart = predicted(scenario, folder, batch, "/communication/overlap=false")
                for processes in (1, 2):
                    measured = (seconds_of(series, "iteration", devices=1, batch=batch) if processes == 1 else
                                seconds_of(series, "step", how="ddp", ranks=processes, batch=batch))
                    if measured is None or (processes == 1 and batch != HELD_OUT_BATCH):
                        continue
                    middle, (low, high) = statistics.median(measured), interval(measured)
                    s, least, most = both[processes]
                    error = s / middle - 1
                    errors.append(abs(error))
                    inside.append(least <= high and most >= low)
                    print(f"{network:9} {batch:5}  {processes:9}  {1e3 * s:7.1f} ms  {1e3 * least:7.1f} to {1e3 * most:7.1f}  "
                          f"{1e3 * middle:7.1f} ms  {1e3 * low:7.1f} to {1e3 * high:7.1f}  {100 * error:+6.1f} %"
                          f"  {100 * (apart[processes][0] / middle - 1):+6.1f} %")
    print(f"{len(errors)} held out: median error {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %; "
          f"bounds and interval meet in {sum(inside)}")


main()
