#!/usr/bin/env python3
"""scenario.py LENET_HOST.json RECORD.json PROCESSES SIGMA: the scenario of asynchronous SGD by so many processes, each as
fast as the record's were on average, whose steps vary with this sigma."""
import json
import sys

host, record, processes, sigma = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
with open(host, encoding="utf-8") as file:
    scenario = json.load(file)
with open(record, encoding="utf-8") as file:
    rate = json.load(file)["epochs"][-1]["samples_per_s"] / processes


def measured(value):
    return {"value": value, "kind": "measured", "source": "the training beside it"}


scenario["cluster"]["gpus_per_node"] = measured(processes)
scenario |= {"name": "LeNet by processes of this machine at their own pace", "algorithm": "async-sgd", "gpus": [processes],
             "baseline": {"gpus": processes}, "batch_per_gpu": 16, "iterations": 400,
             "compute": {"precision": "fp32", "rates": [{"batch": 16, "rate": measured(f"{rate} images/s")}]},
             "communication": {"message_overhead": scenario["communication"]["message_overhead"]},
             "workers": {"servers": measured(1), "placement": "co-located", "reads": "at-start", "sends": "at-end",
                         "delay": {"distribution": "lognormal",
                                   "median": {"value": 1, "kind": "assumed", "source": "the compute time"},
                                   "sigma": {"value": sigma, "kind": "assumed", "source": "a machine that others share"}}}}
json.dump(scenario, sys.stdout, indent=1)
