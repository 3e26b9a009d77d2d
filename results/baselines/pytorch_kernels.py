"""What the GPU does in a training step of pytorch_transformers.py, by PyTorch's profiler: a line of JSON per configuration.

    python3 results/baselines/pytorch_kernels.py CONFIGURATION...

Of three steps after a warm-up of five: `kernels`, the time on the GPU and the number of calls of each kernel for one
step, longest first; `operators`, the same by the operator that launched them; `step_s` as it was while watched."""
import json
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

from pytorch_transformers import Training

STEPS = 3
MOST = 60


def kernels_of(configuration):
    name, length, batch, *words = configuration.split(":")
    training = Training(name, int(length), int(batch), words)
    training.seconds_of(5)
    cuda = training.device == "cuda"
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if cuda else [])
    with profile(activities=activities) as watched:
        start = time.perf_counter()
        training.seconds_of(STEPS)
        step_s = (time.perf_counter() - start) / STEPS
    rows = {True: [], False: []}
    for event in watched.key_averages():
        time_us = event.self_device_time_total if cuda else event.self_cpu_time_total
        if time_us > 0:
            rows[not cuda or str(event.device_type).endswith("CUDA")].append((event.key[:160], time_us, event.count))
    line = {"configuration": configuration, "program": f"PyTorch {torch.__version__}", "step_s": step_s}
    for kind, found in (("kernels", rows[True]), ("operators", rows[False])):
        found.sort(key=lambda row: -row[1])
        line[kind] = [{"name": key, "s": us * 1e-6 / STEPS, "calls": count / STEPS} for key, us, count in found[:MOST]]
        line[kind + "_s"] = sum(row[1] for row in found) * 1e-6 / STEPS
    return line


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 2
    for configuration in sys.argv[1:]:
        print(json.dumps(kernels_of(configuration)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
