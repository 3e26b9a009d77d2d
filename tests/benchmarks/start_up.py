#!/usr/bin/env python3
"""Times whole commands from start to end, and the start of a process that does nothing.

usage: start_up.py BUILD_FOLDER [OUTPUT.json]
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

RUNS = 40
BUILD = pathlib.Path(sys.argv[1]).resolve()
SIMULATE = str(BUILD / "simulate")
COMMANDS = {
    "true": ["/bin/true"],
    "simulate --version": [SIMULATE, "--version"],
    "ResNet-50 on 64 H100": [SIMULATE, "job", "--model", "resnet50", "--gpu", "H100", "--gpus", "64", "--batch", "64"],
    "Llama 3 8B on 64 H100, split searched": [SIMULATE, "job", "--model", "llama3_8b", "--gpu", "H100", "--gpus", "64"],
}


def seconds(command):
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


results = {}
for name, command in COMMANDS.items():
    times = [seconds(command) for _ in range(RUNS)]
    results[name] = {"median": round(statistics.median(times) * 1000, 2), "least": round(min(times) * 1000, 2)}
    print(name, results[name], "ms", flush=True)
if len(sys.argv) > 2:
    pathlib.Path(sys.argv[2]).write_text(json.dumps({"runs": RUNS, "ms": results}, indent=1) + "\n", encoding="utf-8")
