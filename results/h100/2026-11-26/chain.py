"""What the profiles of one H100 predict beside what was measured there and not calibrated; a table.

    python3 results/h100/2026-11-26/chain.py build
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)))
BANDWIDTH = {"value": "3350 GB/s", "kind": "published", "source": "scenarios/catalogue/gpus.json, h100-sxm"}


def lines(path):
    with open(os.path.join(HERE, path), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def predicted(programs, profile, folder, batch, model=None, learners=1):
    """Seconds of a step by `calibrate scenario` and `simulate`."""
    scenario, result = os.path.join(folder, "scenario.json"), os.path.join(folder, "result.json")
    named = ["--model", model] if model else []
    subprocess.run([os.path.join(programs, "calibrate"), "scenario", profile, *named, "--batch", str(batch), "-o", scenario],
                   check=True, stdout=subprocess.DEVNULL)
    if learners > 1:
        with open(scenario, encoding="utf-8") as file:
            described = json.load(file)
        described.update(algorithm="sma", learners={"per_gpu": learners, "fill": "profile"})
        described["cluster"]["gpu"]["memory_bandwidth"] = BANDWIDTH
        with open(scenario, "w", encoding="utf-8") as file:
            json.dump(described, file)
    subprocess.run([os.path.join(programs, "simulate"), scenario, "--gpus", "1", "--quiet", "--json", result], check=True,
                   stdout=subprocess.DEVNULL)
    with open(result, encoding="utf-8") as file:
        point = json.load(file)["points"][0]
    return point["global_batch"] / point["samples_per_s"]


def main():
    programs = sys.argv[1]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        engine = os.path.join(HERE, "second/profile.json")
        for line in lines("second/chain.jsonl"):
            learners = line["learners_per_gpu"]
            seconds = predicted(programs, engine, folder, line["batch"], line["model"], learners)
            what = f"Lockstep's engine, {line['model']}, batch {line['batch']}" + (f", {learners} learners" if learners > 1 else "")
            rows.append((what, seconds, line["step_s"]))
        truths = lines("second/probe_truth.jsonl") + [
            line for line in lines("first/transformers.jsonl") if line["configuration"] == "gpt2:1024:12:amp"]
        for name, log, truth in (("ResNet-50", "second/probe_resnet50.jsonl", truths[0]),
                                 ("Llama 3.2 1B, 2048 tokens", "second/probe_llama.jsonl", truths[1]),
                                 ("GPT-2, 1024 tokens", "first/probe_gpt2.jsonl", truths[2])):
            profile = os.path.join(folder, "profile.json")
            subprocess.run([os.path.join(programs, "calibrate"), "import", "torch-probe", os.path.join(HERE, log), "-o", profile],
                           check=True, capture_output=True)
            rows.append((f"PyTorch, {name}, batch {truth['batch']}", predicted(programs, profile, folder, truth["batch"]),
                         truth["step_s"]))
    print("| | predicted | measured | error |\n|---|---|---|---|")
    for what, seconds, measured in rows:
        print(f"| {what} | {1e3 * seconds:.3g} ms | {1e3 * measured:.3g} ms | {100 * (seconds / measured - 1):+.1f} % |")


main()
