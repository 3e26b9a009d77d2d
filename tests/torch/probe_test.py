"""The probe of PyTorch jobs: its graphs, its times, its file. Needs torch; run.sh skips it where that is missing."""
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROBE = os.path.join(ROOT, "calib", "torch", "lockstep_probe.py")
NETS = os.path.join(HERE, "nets.py")
sys.path[:0] = [os.path.dirname(PROBE), HERE]

import torch
from torch import nn

import lockstep_probe
import nets

torch.set_num_threads(1)


def graph_of(built, size=4):
    return lockstep_probe.traced(lockstep_probe.Job(built), "net", size)[1]


def macs_of(graph):
    """Multiply-adds of a sample by the format's own counting."""
    shapes, total, before = {"input": graph.input}, 0, "input"
    for layer in graph.layers:
        source = layer.get("from", before)
        given = shapes[source[0] if isinstance(source, list) else source]
        shapes[layer["name"]] = graph.shape_by_name[layer["name"]]
        out, before = shapes[layer["name"]], layer["name"]
        if layer["kind"] == "conv":
            height, width = lockstep_probe.pair(layer["kernel"])
            total += given[0] // layer.get("groups", 1) * height * width * out[0] * out[1] * out[2]
        elif layer["kind"] == "fc":
            total += given[0] * given[1] * given[2] * out[0]
        else:
            total += layer.get("macs", 0)
    return total


def run(*words, timeout=900):
    return subprocess.run([sys.executable, PROBE, *map(str, words)], capture_output=True, text=True, timeout=timeout)


def entries(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Graphs(unittest.TestCase):
    def test_a_residual_network_is_known_layer_by_layer(self):
        graph = graph_of(nets.resnet20())
        self.assertEqual([l for l in graph.layers if l["kind"] == "opaque"], [])
        kinds = [l["kind"] for l in graph.layers]
        self.assertEqual(kinds.count("conv"), 19 + 2)
        self.assertEqual(kinds.count("add"), 9)
        self.assertEqual(kinds[-2:], ["fc", "softmax"])
        # He et al. 2015: 0.27 million parameters; its convolutions and its last layer, counted by hand.
        self.assertEqual(lockstep_probe.described(graph)["parameters"], 272474 + 2 * 0)
        first, same = 27 * 16 * 1024, 6 * 9 * 16 * 16 * 1024
        down = [9 * w * 2 * w * s + 5 * 9 * 4 * w * w * s + w * 2 * w * s for w, s in ((16, 256), (32, 64))]
        self.assertEqual(macs_of(graph), first + same + sum(down) + 640)

    def test_sums_read_what_is_summed(self):
        graph = graph_of(nets.build())
        layers = {l["name"]: l for l in graph.layers}
        self.assertEqual(layers["blocks.0/add"]["from"], ["blocks.0.bn2", "stem.2"])
        self.assertEqual(layers["blocks.1/add"]["from"], ["blocks.1.bn2", "blocks.1.down.1"])
        self.assertEqual(layers["blocks.1.down.0"]["from"], "blocks.0.relu:2")

    def test_a_shared_matrix_has_one_owner_and_works_twice(self):
        words, tokens, width, blocks = 512, 64, 128, 4
        graph = graph_of(nets.gpt())
        layers = {l["name"]: l for l in graph.layers}
        self.assertEqual(layers["words"]["parameters"], [words * width])
        self.assertNotIn("parameters", layers["head"])
        self.assertEqual(layers["head"]["macs"], tokens * width * words)
        matrices = 12 * width * width * tokens + 2 * tokens * tokens * width
        self.assertEqual(macs_of(graph), blocks * matrices + tokens * width * words)
        model = nets.gpt()[0]
        self.assertEqual(lockstep_probe.described(graph)["parameters"], sum(p.numel() for p in model.parameters()))
        self.assertEqual(layers["blocks.0.mlp.0"]["kind"], "conv")

    def test_every_name_is_new_and_every_layer_is_read(self):
        for built in (nets.gpt(), nets.resnet20(), self.transformer()):
            graph = graph_of(built)
            names, read, before = {"input"}, set(), "input"
            for layer in graph.layers:
                sources = layer.get("from", before)
                for source in sources if isinstance(sources, list) else [sources]:
                    self.assertIn(source, names)
                    read.add(source)
                self.assertNotIn(layer["name"], names)
                names.add(layer["name"])
                before = layer["name"]
            unread = names - read - {graph.layers[-1]["name"], "input"}
            self.assertEqual(unread, set())

    @staticmethod
    def transformer():
        model = nets.SmallTransformer()
        batch = lambda size: (torch.randn(size, 12, 32), torch.randint(0, 10, (size,)))
        return model, batch, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters())

    def test_attention_of_pytorch_is_one_layer_with_all_its_parameters(self):
        graph = graph_of(self.transformer())
        attention = [l for l in graph.layers if l["name"].endswith("self_attn")]
        self.assertEqual(len(attention), 2)
        for layer in attention:
            self.assertEqual(sum(layer["parameters"]), 4 * 32 * 32 + 4 * 32)
            self.assertEqual(layer["macs"], 4 * 12 * 32 * 32 + 2 * 12 * 12 * 32)
        self.assertEqual(graph.unused, [])

    def test_frozen_parameters_have_no_gradient_to_reduce(self):
        built = nets.build()
        built[0].stem[0].weight.requires_grad_(False)
        stem = graph_of(built).layers[0]
        self.assertEqual((stem["kind"], "parameters" in stem, stem["macs"]), ("opaque", False, 27 * 16 * 256))

    def test_precision_is_what_the_matrices_ran_in(self):
        self.assertEqual(graph_of(nets.build()).precision, "fp32")
        job = lockstep_probe.Job(nets.build(), torch.bfloat16)
        self.assertEqual(lockstep_probe.traced(job, "net", 4)[1].precision, "bf16")


class LayerTimes(unittest.TestCase):
    def times(self, built, size=8):
        job = lockstep_probe.Job(built)
        trace, graph = lockstep_probe.traced(job, "net", size)
        timer = lockstep_probe.LayerTimer(job.model, trace, job.clock)
        for _ in range(3):
            times = job.layers(size, timer, len(graph.layers))
        return job, graph, times

    def test_every_layer_takes_time_and_together_they_take_that_of_a_pass(self):
        for built in (nets.resnet20(), nets.gpt()):
            job, graph, _ = self.times(built)
            trace, graph = lockstep_probe.traced(job, "net", 8)
            timer = lockstep_probe.LayerTimer(job.model, trace, job.clock)
            passes, whole = [], []
            for _ in range(15):  # in turn, as other processes may disturb either
                times = job.layers(8, timer, len(graph.layers))
                passes.append(sum(times[0]) + sum(times[1]))
                whole.append(job.gradient_s(8))
            self.assertTrue(all(t > 0 for t in times[0]), graph.layers)
            # Hooks cost microseconds, others' work any time: a law, not a figure.
            self.assertGreater(min(passes), 0.5 * min(whole))
            self.assertLess(min(passes), 3 * min(whole))
            # A layer with parameters has a backward pass, and a hundred of a sum's.
            matrices = [t for l, t in zip(graph.layers, times[1]) if l["kind"] in ("conv", "fc")]
            self.assertTrue(all(t > 0 for t in matrices))

    def test_a_slow_layer_is_the_one_that_is_slow(self):
        class Slow(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                time.sleep(0.02)
                return x * 1.0

            @staticmethod
            def backward(ctx, gradient):
                time.sleep(0.03)
                return gradient

        class Sleeper(nn.Module):
            def forward(self, x):
                return Slow.apply(x)

        model = nn.Sequential(nn.Linear(8, 8), Sleeper(), nn.Linear(8, 10))
        batch = lambda size: (torch.randn(size, 8), torch.randint(0, 10, (size,)))
        built = (model, batch, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), 0.1))
        job, graph, (forward, backward) = self.times(built)
        self.assertEqual([l["name"] for l in graph.layers], ["0", "1", "2", "loss"])
        self.assertGreater(forward[1], 0.02)
        self.assertGreater(backward[1], 0.03)
        # The others take microseconds, in a pass that nobody disturbs.
        trace, graph = lockstep_probe.traced(job, "net", 8)
        timer = lockstep_probe.LayerTimer(job.model, trace, job.clock)
        for _ in range(50):
            forward, backward = job.layers(8, timer, len(graph.layers))
            if sum(forward) - forward[1] < 0.01 and sum(backward) - backward[1] < 0.015:
                return
        self.fail("other layers have the slow one's time")

    def test_checkpointing_computes_twice_and_is_counted_once_forward(self):
        for is_reentrant in (False, True):
            model = nets.Checkpointed(is_reentrant)
            batch = lambda size: (torch.randn(size, 64), torch.randint(0, 10, (size,)))
            built = (model, batch, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), 0.1))
            _, graph, times = self.times(built)
            self.assertIsNotNone(times)
            self.assertEqual(lockstep_probe.described(graph)["parameters"], sum(p.numel() for p in model.parameters()))

    def test_a_network_that_takes_another_way_has_no_times(self):
        class Moody(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.calls = nn.Linear(8, 8), nn.Linear(8, 10), 0

            def forward(self, x):
                self.calls += 1
                return self.b(self.a(self.a(x)) if self.calls > 1 else self.a(x))

        model = Moody()
        batch = lambda size: (torch.randn(size, 8), torch.randint(0, 10, (size,)))
        _, _, times = self.times((model, batch, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), 0.1)))
        self.assertIsNone(times)


class Statistics(unittest.TestCase):
    def test_the_interval_is_that_of_order_statistics(self):
        # 25 samples: the 8th and the 18th bound the median with 95 % (as calib/summary.cpp has it).
        seconds = [1 + 0.01 * i for i in range(25)]
        self.assertAlmostEqual(lockstep_probe.half_width(seconds), (seconds[17] - seconds[7]) / 2 / seconds[12], places=6)
        self.assertEqual(lockstep_probe.half_width([1.0] * 11), 0)
        self.assertAlmostEqual(lockstep_probe.half_width([1.0, 3.0]), 0.5)

    def test_a_trend_drifts_and_noise_does_not(self):
        self.assertTrue(lockstep_probe.drifts([1 + 0.01 * i for i in range(20)]))
        self.assertFalse(lockstep_probe.drifts([1 + 0.0001 * i for i in range(20)]))
        self.assertFalse(lockstep_probe.drifts([1.0, 1.2] * 10))


class TimeLeft(unittest.TestCase):
    def series(self, warm_s):
        one = lockstep_probe.Series("step", {}, lambda: 0.0)
        one.warm_s = warm_s
        return one

    def test_slow_steps_take_their_least_samples_and_the_time_so_far_scales_the_rest(self):
        options = unittest.mock.Mock(seconds=5, least=11)
        left = lockstep_probe.TimeLeft(options)
        fast, slow, slowest = self.series(0.01), self.series(1.0), self.series(10.0)
        self.assertEqual([left.of_series(s) for s in (fast, slow, slowest)], [5, 11, 30])
        self.assertEqual(left.seconds([fast, slow], {}, later=2), 5 + 11 + 2 * 5)
        self.assertEqual(left.seconds([fast, slow], {id(slow): 4.0}, later=0), 5 + 7)
        left.took([fast, slow], 32)  # twice what was expected
        self.assertEqual(left.seconds([slow], {}, later=1), 2 * (11 + 5))


class Cores(unittest.TestCase):
    def cores(self, siblings, rank, count):
        with tempfile.TemporaryDirectory() as sysfs:
            for core, text in enumerate(siblings):
                os.makedirs(f"{sysfs}/cpu{core}/topology")
                with open(f"{sysfs}/cpu{core}/topology/thread_siblings_list", "w", encoding="utf-8") as file:
                    file.write(text + "\n")
            return lockstep_probe.cores_of(rank, count, range(len(siblings)), sysfs)

    def test_threads_of_one_core_stay_with_one_process(self):
        neighbours, apart = ["0-1", "0-1", "2-3", "2-3"], ["0,2", "1,3", "0,2", "1,3"]
        self.assertEqual([self.cores(neighbours, rank, 2) for rank in (0, 1)], [[0, 1], [2, 3]])
        self.assertEqual([self.cores(apart, rank, 2) for rank in (0, 1)], [[0, 2], [1, 3]])

    def test_every_process_has_a_core_and_no_core_has_two_while_there_are_enough(self):
        for siblings in (["0", "1", "2", "3"], ["0-1", "0-1", "2-3", "2-3"]):
            for count in (1, 2, 3, 4):
                shares = [self.cores(siblings, rank, count) for rank in range(count)]
                self.assertTrue(all(shares))
                taken = [core for share in shares for core in share]
                self.assertEqual(len(taken), len(set(taken)))
        self.assertEqual([len(self.cores(["0", "1"], rank, 3)) for rank in range(3)], [1, 1, 1])


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "probe.jsonl")

    def tearDown(self):
        self.folder.cleanup()

    def probe(self, *more):
        return run(NETS, "--batches", "2,4", "--threads", 1, "--seconds", 0.05, "--least", 5, "--passes", 3, "-o",
                   self.path, *more)

    def test_a_killed_run_goes_on_and_redoes_nothing(self):
        self.assertEqual(self.probe().returncode, 0)
        whole = entries(self.path)
        declared = {e["series"]: lockstep_probe.series_id(e["probe"], e["key"]) for e in whole if "series" in e}
        done = [declared[e["done"]] for e in whole if "done" in e]
        self.assertEqual(sorted(set(declared.values())), sorted(done))
        # Killed behind the steps, in the middle of a line.
        with open(self.path, "rb") as file:
            text = file.read()
        cut = text.index(b'"probe":"pass"')
        with open(self.path, "wb") as file:
            file.write(text[:cut])
        self.assertEqual(self.probe().returncode, 2)  # not without --resume
        self.assertEqual(self.probe("--resume").returncode, 0)
        declared, done = {}, []
        for e in entries(self.path):
            if "series" in e:
                declared[e["series"]] = lockstep_probe.series_id(e["probe"], e["key"])
            if "done" in e:
                done.append(declared[e["done"]])
        self.assertEqual(len(done), len(set(done)))
        self.assertEqual(sum("run" in e for e in entries(self.path)), 2)
        refused = run(NETS + ":gpt", "--name", "nets", "--batches", "2", "--threads", 1, "-o", self.path, "--resume")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("is of another network; allowed: the same, or another -o", refused.stderr)

    def test_the_next_command_works_as_it_is_typed(self):
        with tempfile.TemporaryDirectory() as root:
            places = {name: os.path.join(root, *name.split("/")) for name in ("share/lockstep", "build", "bin")}
            for place in places.values():
                os.makedirs(place)
            own, before = lockstep_probe.__file__, os.getcwd()
            lockstep_probe.__file__ = os.path.join(places["share/lockstep"], "lockstep_probe.py")
            try:
                os.chdir(root)
                self.assertEqual(lockstep_probe.command_of("calibrate"), "lockstep calibrate")
                with unittest.mock.patch("shutil.which", return_value=None):
                    open(os.path.join(places["bin"], "lockstep"), "w").close()
                    self.assertEqual(lockstep_probe.command_of("calibrate"),
                                     os.path.realpath(os.path.join(places["bin"], "lockstep")) + " calibrate")
                open(os.path.join(places["build"], "calibrate"), "w").close()
                self.assertEqual(lockstep_probe.command_of("calibrate"), "build/calibrate")
                os.chdir(places["bin"])
                self.assertEqual(lockstep_probe.command_of("calibrate"), os.path.realpath(os.path.join(places["build"], "calibrate")))
            finally:
                lockstep_probe.__file__ = own
                os.chdir(before)

    def test_the_network_is_written_beside_the_times_and_the_command_has_what_was_trained(self):
        result = run(NETS + ":gpt", "--network-only", "--batches", "2", "--threads", 1, "-o", self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse(os.path.exists(self.path))
        with open(os.path.join(self.folder.name, "probe.model.json"), encoding="utf-8") as file:
            model = json.load(file)
        self.assertEqual(model["schema"], "lockstep/model/1")
        self.assertEqual(model["tokens"], model["input"][0])  # numbers of tokens: sequences are counted
        self.assertIn("job --model ", result.stdout)
        self.assertIn("--batch 2 --precision fp32 --optimizer ", result.stdout)

    def test_bad_words_are_one_line(self):
        for words, said in (([NETS + ":nothing"], "has no function nothing; allowed: "),
                            (["no.py"], "no.py: no such file; allowed: FILE.py:FUNCTION"),
                            ([NETS, "--batches", "0"], "--batches 0: are no counts; allowed: 8,16,32"),
                            ([NETS + ":images"], "build() gave something else: ")):
            result = run(*words, "-o", self.path)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(said, result.stderr)
            self.assertFalse(os.path.exists(self.path) and os.path.getsize(self.path) > 0)

    def test_two_processes_measure_what_they_exchange(self):
        result = self.probe("--processes", 2, "--most-bytes", 65536, "--pin")
        self.assertEqual(result.returncode, 0, result.stderr)
        # A disturbed series is measured again, which depends on the machine's other work.
        keys = [(e["probe"], e["key"]) for e in entries(self.path) if "series" in e and not e.get("again")]
        self.assertEqual({k["devices"] for p, k in keys if p == "iteration"}, {1, 2})
        self.assertEqual({k["ranks"] for p, k in keys if p == "step" and k["how"] == "ddp"}, {1, 2})
        self.assertEqual({k["devices"] for p, k in keys if p == "step" and k["ranks"] == 1}, {1, 2})
        sums = [k for p, k in keys if p == "collective" and k["operation"] == "all-reduce"]
        self.assertEqual([k["bytes"] for k in sums], [4096, 16384, 65536])
        self.assertEqual({k["library"] for k in sums}, {"gloo"})
        self.assertEqual({k["beside"] for p, k in keys if p == "overlap"}, {"nothing", "all-reduce"})

    def test_a_process_that_fails_ends_the_others(self):
        began = time.perf_counter()
        result = run(NETS + ":unlucky", "--processes", 2, "-o", self.path)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no such GPU", result.stderr)
        self.assertLess(time.perf_counter() - began, 600)

    def test_around_a_loop_of_ones_own_steps_are_timed_and_nothing_is_changed(self):
        def trained(around):
            torch.manual_seed(3)
            model, batch, loss, optimizer = nets.build()
            with around(model, optimizer):
                for _ in range(10):
                    for _ in range(2):  # gradients accumulate
                        inputs, targets = batch(4)
                        loss(model(inputs), targets).backward()
                    optimizer.step()
                    optimizer.zero_grad()
            return [p.detach().clone() for p in model.parameters()]

        plain = trained(lambda model, optimizer: contextlib.nullcontext())
        probed = trained(lambda model, optimizer: lockstep_probe.measure(model, optimizer, self.path, "mine", layer_steps=3, skip=2))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(plain, probed)))
        found = entries(self.path)
        series = [e for e in found if "series" in e]
        self.assertEqual([(e["probe"], e["key"]["batch"]) for e in series], [("iteration", 8), ("pass", 4)])
        self.assertEqual(sum("at" in e for e in found), 10 - 3 - 3)
        passes = [e for e in found if "pass" in e]
        self.assertEqual(len(passes), 3)
        layers = next(e for e in found if "graph" in e)["graph"]["layers"]
        self.assertTrue(all(t > 0 for t in passes[-1]["forward"]))
        self.assertTrue(all(t > 0 for l, t in zip(layers, passes[-1]["backward"]) if l["kind"] == "conv"))
        self.assertTrue(any("graph" in e for e in found))


if __name__ == "__main__":
    unittest.main()
