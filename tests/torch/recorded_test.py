"""recorded_test.py BUILD: a recorded file of the probe becomes a profile, a scenario and predictions. Needs no torch."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDED = os.path.join(ROOT, "tests", "calib", "data", "torch_probe.jsonl")
CLOSE = 0.35  # DDP's steps of some milliseconds on two cores; the network is small, so that the file is


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


with tempfile.TemporaryDirectory() as folder:
    profile, scenario = os.path.join(folder, "p.json"), os.path.join(folder, "sub", "s.json")
    os.mkdir(os.path.dirname(scenario))
    run(f"{BUILD}/calibrate", "import", "torch-probe", RECORDED, "-o", profile)
    assert "Series to be doubted" in run(f"{BUILD}/calibrate", "show", profile)
    run(f"{BUILD}/calibrate", "scenario", profile, "-o", scenario)
    with open(profile, encoding="utf-8") as file:
        samples = json.load(file)["samples"]
    # A profile's iterations are met where they were measured; two processes are off by no more than CLOSE.
    for sample in samples:
        key, median = sample["key"], statistics.median(sample["seconds"])
        if sample["probe"] == "iteration" and key["devices"] == 1:
            predicted = points(scenario, f"/batch_per_gpu={key['batch']}")[1]
            print(f"batch {key['batch']}, alone: predicted {1e3 * predicted:.2f} ms, measured {1e3 * median:.2f} ms")
            assert abs(predicted / median - 1) < 0.15
        if sample["probe"] == "step":
            predicted = points(scenario, f"/batch_per_gpu={key['batch']}")[2]
            print(f"batch {key['batch']}, two: predicted {1e3 * predicted:.2f} ms, measured {1e3 * median:.2f} ms")
            assert abs(predicted / median - 1) < CLOSE
    # Other batches lie between; more processes than were measured ring over the fitted links.
    between = [points(scenario, f"/batch_per_gpu={batch}")[1] for batch in (4, 6, 8)]
    assert between == sorted(between) and between[0] < between[2]
    four = points(scenario, "/communication/all_reduce=ring", "/cluster/gpus_per_node=4", "/gpus=[4]")[4]
    assert four > points(scenario)[1]
