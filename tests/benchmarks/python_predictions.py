#!/usr/bin/python3
"""Times predictions of the Python package in process, in as many threads as there are cores.

usage: python_predictions.py BUILD_FOLDER [OUTPUT.json]
"""
import json
import os
import pathlib
import platform
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve() / "python"))
import lockstep  # noqa: E402

CORES = os.cpu_count()
SPLIT = dict(model="llama3_70b", gpu="H100", gpus=1024, tensor=8, pipeline=4, virtual_stages=5, micro_batch=1, sharding="zero1",
             recompute="none")
CASES = {
    "ResNet-50 on 2,048 H100, another batch each time": (400, lambda i: dict(model="resnet50", gpu="H100", gpus=2048, batch=32 + i)),
    "Llama 3 70B on 1,024 H100, split given, another global batch each time":
        (400, lambda i: dict(SPLIT, global_batch=1024 + 128 * (i % 100))),
    "Llama 3 70B on 1,024 H100, split searched": (6, lambda i: dict(model="llama3_70b", gpu="H100", gpus=1024)),
}


def milliseconds(count, options, threads):
    """Wall time of a prediction, mean over `count` of them."""
    lockstep.predict(**options(0))
    jobs = [lockstep.Job(**options(i)) for i in range(count)]
    workers = [threading.Thread(target=lambda part: [lockstep.predict(job) for job in part], args=(jobs[k::threads],))
               for k in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return round((time.perf_counter() - began) / count * 1000, 2)


results = {"processor": next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                             platform.processor()),
           "cores": CORES, "ms_per_prediction": {}}
for name, (count, options) in CASES.items():
    results["ms_per_prediction"][name] = {"one thread": milliseconds(count, options, 1), f"{CORES} threads": milliseconds(count, options, CORES)}
    print(name, results["ms_per_prediction"][name], flush=True)
if len(sys.argv) > 2:
    pathlib.Path(sys.argv[2]).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
