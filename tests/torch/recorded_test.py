"""recorded_test.py BUILD: a recorded file of the probe becomes a profile, a scenario and predictions. Needs no torch."""
import json
import os
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDED = os.path.join(ROOT, "tests", "calib", "data", "torch_probe.jsonl")


def run(*words):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, f"{words}\n{result.stdout}{result.stderr}"
    return result.stdout


def points(scenario, *settings):
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result.json")
        words = [w for setting in settings for w in ("--set", setting)]
        run(f"{BUILD}/simulate", scenario, "--quiet", "--json", result, *words)
        with open(result, encoding="utf-8") as file:
            return {point["gpus"]: point["iteration_s"]["mean"] for point in json.load(file)["points"]}


def steady(path):
    """The recorded file as a machine that nobody disturbs would give it: each series at its median."""
    with open(RECORDED, encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    times = {}
    for entry in entries:
        if "at" in entry:
            times.setdefault(entry["at"], []).append(entry["seconds"])
    with open(path, "w", encoding="utf-8") as file:
        for entry in entries:
            if "at" in entry:
                entry["seconds"] = sorted(times[entry["at"]])[len(times[entry["at"]]) // 2]
            file.write(json.dumps(entry) + "\n")
    return path


def refusal(scenario, setting):
    result = subprocess.run([f"{BUILD}/simulate", scenario, "--quiet", "--set", setting], capture_output=True, text=True,
                            timeout=120)
    return result.stderr if result.returncode == 1 else ""


with tempfile.TemporaryDirectory() as folder:
    profile, scenario = os.path.join(folder, "p.json"), os.path.join(folder, "sub", "s.json")
    os.mkdir(os.path.dirname(scenario))
    run(f"{BUILD}/calibrate", "import", "torch-probe", RECORDED, "-o", profile)
    assert "Series to be doubted" in run(f"{BUILD}/calibrate", "show", profile)
    run(f"{BUILD}/calibrate", "scenario", profile, "-o", scenario)
    # Batch 2 was so disturbed that it predicts nothing.
    assert "measure them again" in refusal(scenario, "/batch_per_gpu=2")
    run(f"{BUILD}/calibrate", "import", "torch-probe", steady(os.path.join(folder, "steady.jsonl")), "-o", profile)
    run(f"{BUILD}/calibrate", "scenario", profile, "-o", scenario)
    with open(profile, encoding="utf-8") as file:
        measured = json.load(file)
    # A process alone takes what was measured, as far as the line over the batches meets it; two take no less than both
    # did busy, and no more than one after the other with the longest all-reduce.
    fits = {fit["key"]["devices"]: fit for fit in measured["fits"] if fit["probe"] == "iteration"}
    median = lambda sample: sorted(sample["seconds"])[len(sample["seconds"]) // 2]
    longest = max(median(s) for s in measured["samples"] if s["probe"] == "collective")
    slowed = max(median(s) for s in measured["samples"] if s["probe"] == "overlap")
    for sample in measured["samples"]:
        key = sample["key"]
        if sample["probe"] != "iteration":
            continue
        predicted = points(scenario, f"/batch_per_gpu={key['batch']}")[key["devices"]]
        print(f"batch {key['batch']}, {key['devices']}: predicted {1e3 * predicted:.2f} ms, measured {1e3 * median(sample):.2f} ms")
        off = fits[key["devices"]]["worst_residual"] + 0.02
        assert predicted > (1 - off) * median(sample)
        most = median(sample) if key["devices"] == 1 else median(sample) + 4 * longest + slowed
        assert predicted < (1 + off) * most
    # Other batches lie between; more processes than were measured ring over the fitted links.
    between = [points(scenario, f"/batch_per_gpu={batch}")[1] for batch in (4, 6, 8)]
    assert between == sorted(between) and between[0] < between[2]
    four = points(scenario, "/communication/all_reduce=ring", "/cluster/gpus_per_node=4", "/gpus=[4]")[4]
    assert four > points(scenario)[1]
