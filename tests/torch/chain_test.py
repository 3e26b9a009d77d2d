"""From a PyTorch job to a prediction: the probe's file is imported and simulated, and the networks that it reads are
those of the zoo. Needs torch, and LOCKSTEP_BUILD with the programs; without SimGrid the simulating parts are skipped."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROBE = os.path.join(ROOT, "calib", "torch", "lockstep_probe.py")
sys.path[:0] = [os.path.dirname(PROBE), HERE, os.path.join(ROOT, "results", "baselines")]

import torch
from torch import nn

import lockstep_probe
import models
import nets

BUILD = os.environ.get("LOCKSTEP_BUILD", os.path.join(ROOT, "build"))
CALIBRATE, SIMULATE = os.path.join(BUILD, "calibrate"), os.path.join(BUILD, "simulate")
needs_simulate = unittest.skipUnless(os.path.exists(SIMULATE), "no simulate: built without SimGrid")


def run(*words, status=0):
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=900)
    assert result.returncode == status, f"{words}: {result.returncode}\n{result.stdout}{result.stderr}"
    return result


def loaded(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rows(model):
    """(kind, output, parameters, multiply-adds) of the layers that have either, as `simulate --show-model` prints them."""
    found = []
    for line in run(SIMULATE, "--show-model", model).stdout.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) >= 4 and cells[1] in ("conv", "fc", "batch_norm", "opaque"):
            counts = [int(c.replace(",", "")) for c in cells[2:] if re.fullmatch(r"[\d,]+", c)]
            if cells[1] != "opaque":
                found.append((cells[1], counts[-2:] if cells[1] != "batch_norm" else counts[-1:]))
    return found


def counts_by_layer(model):
    """(name, parameters, multiply-adds) of the layers that have either, in their order, by the columns of --show-model."""
    lines = run(SIMULATE, "--show-model", model).stdout.splitlines()
    head = next(line for line in lines if line.startswith("layer"))
    ends = [head.index(column) + len(column) for column in ("params", "MACs")]
    found = []
    rows = lines[lines.index(head) + 1:]
    for line in rows[:next(i for i, row in enumerate(rows) if row.startswith("total"))]:
        parameters, macs = (int("0" + re.search(r"[\d,]*$", line[:end] if len(line) >= end else "").group().replace(",", ""))
                            for end in ends)
        if parameters or macs:
            found.append((line.split()[0], parameters, macs))
    return found


def with_attention_as_one(layers):
    """q, k, v, the attention itself and its output, which are one layer of PyTorch."""
    found = []
    for name, parameters, macs in layers:
        block, _, part = name.rpartition("/")
        if part in ("k", "v", "attention", "out") and found[-1][0] == block + "/q":
            found[-1] = (found[-1][0], found[-1][1] + parameters, found[-1][2] + macs)
        else:
            found.append((name, parameters, macs))
    return found


COPIES_S = 2e-3


def planted_s(probe, key):
    """Times of a machine that nobody disturbs, so that what follows from them is known: 1 ms and 0.5 ms a sample, a tenth
    more for each further process that is busy; 100 us and 1 GB/s of a collective; 2 ms of copies into buckets and back."""
    if probe == "collective":
        return 1e-4 + key["bytes"] / 1e9
    if probe == "update":
        return 1e-4
    alone_s = (1e-3 + 5e-4 * key["batch"]) * (1 + 0.1 * (key.get("devices", key.get("ranks", 1)) - 1))
    if probe == "step" and key["ranks"] == 1:
        return alone_s + COPIES_S
    return alone_s * (1.2 if key.get("beside") == "all-reduce" else 1)


def plant(path):
    """Gives the series of a file of the probe planted times; layers keep their own, which only spread an iteration."""
    with open(path, encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    series = {e["series"]: (e["probe"], e["key"]) for e in entries if "series" in e}
    with open(path, "w", encoding="utf-8") as file:
        for entry in entries:
            if "at" in entry:
                entry["seconds"] = planted_s(*series[entry["at"]])
            file.write(json.dumps(entry) + "\n")
    return path


class Chain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def measured(self, build, *more):
        run(sys.executable, PROBE, f"{HERE}/nets.py:{build}", "--batches", "2,4,8", "--threads", 1, "--seconds", 0.05, "--least",
            5, "--passes", 3, "--most-bytes", 262144, "-o", self.path(f"{build}{len(more)}.jsonl"), *more)
        return plant(self.path(f"{build}{len(more)}.jsonl"))

    @needs_simulate
    def test_a_profile_of_the_probe_predicts_other_batches_and_more_processes(self):
        files = [self.measured("build"), self.measured("build", "--processes", 2, "--pin")]
        profile, scenario, result = self.path("p.json"), self.path("s.json"), self.path("r.json")
        run(CALIBRATE, "import", "torch-probe", *files, "-o", profile)
        self.assertIn("iteration", run(CALIBRATE, "show", profile).stdout)
        run(CALIBRATE, "scenario", profile, "-o", scenario)
        run(SIMULATE, scenario, "--quiet", "--set", "/batch_per_gpu=6", "--json", result)
        points = {p["gpus"]: p for p in loaded(result)["points"]}
        self.assertEqual(sorted(points), [1, 2])
        self.assertAlmostEqual(points[1]["iteration_s"]["mean"], planted_s("iteration", {"batch": 6}), delta=1e-6)
        # Two: no less than both were busy and copied their gradients, no more than that slowed throughout and every
        # all-reduce behind it.
        busy = planted_s("iteration", {"batch": 6, "devices": 2})
        parameters = loaded(profile)["device"]["facts"]["torch"]["parameters"]
        two = points[2]["iteration_s"]["mean"]
        rate = loaded(scenario)["communication"]["bucket_copies"]
        self.assertAlmostEqual(float(rate["value"].split()[0]) * 1e9, 2 * 4 * parameters / COPIES_S, delta=1e-3 * 4 * parameters / COPIES_S)
        self.assertGreaterEqual(two, (busy + COPIES_S) * (1 - 1e-3))
        self.assertLess(two, 1.2 * busy + COPIES_S + planted_s("collective", {"bytes": 4 * parameters}) + 10 * 1e-4)
        # More than were measured: a ring over links that are fitted to the measured sums.
        run(SIMULATE, scenario, "--quiet", "--gpus", 4, "--set", "/communication/all_reduce=ring", "--set",
            "/cluster/gpus_per_node=4", "--json", result)
        self.assertGreater(loaded(result)["points"][0]["exposed_communication_s"], 0)

    @needs_simulate
    def test_a_measurement_stands_beside_its_prediction_and_becomes_a_record(self):
        profile, record = self.path("p.json"), self.path("record.json")
        run(CALIBRATE, "import", "torch-probe", self.measured("build"), "-o", profile)
        said = run(sys.executable, PROBE, f"{HERE}/nets.py:build", "--check", profile, "--programs", BUILD, "--batches", "5",
                   "--threads", 1, "--seconds", 0.3, "--record", record).stdout
        self.assertRegex(said, r"\n +5 +1 +[\d.]+ ms +[\d.]+ to +[\d.]+ +[\d.]+ ms +[\d.]+ to +[\d.]+ +[+-][\d.]+ %\n")
        table = run(SIMULATE, record, "--quiet").stdout
        self.assertIn("samples_per_s", table[table.index("Predicted against published"):])

    @needs_simulate
    def test_what_the_format_does_not_know_is_predicted_as_well(self):
        profile, scenario, result = self.path("p.json"), self.path("s.json"), self.path("r.json")
        run(CALIBRATE, "import", "torch-probe", self.measured("gpt"), "-o", profile)
        run(CALIBRATE, "scenario", profile, "-o", scenario)
        run(SIMULATE, scenario, "--quiet", "--json", result)
        self.assertGreater(loaded(result)["points"][0]["samples_per_s"], 0)

    @needs_simulate
    def test_networks_that_the_probe_reads_are_those_of_the_zoo(self):
        for name, model, classes in (("resnet50", models.resnet50, 1000), ("vgg16", nets.vgg16, 1000),
                                     ("resnet18", nets.resnet18, 1000), ("mobilenet_v2", nets.mobilenet_v2, 1000)):
            built = nets.classifier_job(model(), side=224, classes=classes)
            job = lockstep_probe.Job(built)
            graph = lockstep_probe.traced(job, "read", 1 if name != "resnet50" else 2)[1]
            self.assertEqual([l["name"] for l in graph.layers if l.get("macs") or l.get("parameters")], [])
            file = self.path(f"{name}.json")
            with open(file, "w", encoding="utf-8") as out:
                json.dump(graph.json(), out)
            key = lambda row: (row[0], tuple(row[1]))
            self.assertEqual(sorted(rows(file), key=key), sorted(rows(name), key=key), name)

    @needs_simulate
    def test_a_vision_transformer_is_that_of_the_zoo_layer_by_layer(self):
        graph = lockstep_probe.traced(lockstep_probe.Job(nets.classifier_job(nets.VisionTransformer(), 224, 1000)), "vit", 1)[1]
        file = self.path("vit.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(graph.json(), out)
        read, known = counts_by_layer(file), with_attention_as_one(counts_by_layer("vit_b16"))
        self.assertEqual(len(known), 2 + 12 * 5 + 2)
        self.assertEqual([layer[1:] for layer in read], [layer[1:] for layer in known])


if __name__ == "__main__":
    unittest.main()
