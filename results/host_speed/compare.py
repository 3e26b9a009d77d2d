#!/usr/bin/env python3
"""Training steps of the engine on the host beside PyTorch's on the same processor: images/s and peak memory.

    /usr/bin/python3 results/host_speed/compare.py BUILD OUT [--repeats 5] [--threads 2] [--only NAME]

A step is forward pass, loss, and the gradients of all parameters, on one batch of random images that stays the same. Both
run the networks of Lockstep's zoo: PyTorch's is made from the same graph (engine_dump). Every repetition of a
configuration is a process of its own, the engine's and PyTorch's in turn, pinned to the same cores; figures are medians
over the repetitions, of at least a second each. OUT receives runs.json and table.txt. Needs torch (Debian: python3-torch,
libopenblas0-pthread), bench_host and engine_dump.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGURATIONS = [("lenet_crossbow", 16), ("lenet_crossbow", 32), ("lenet_crossbow", 64), ("resnet32_crossbow", 32),
                  ("vgg16_cifar100", 32), ("resnet50", 4), ("resnet50", 8)]
SECONDS = 1.5


def network_of(graph):
    """The zoo's network as tests/torch has it, with parameters of its own and padding left to the layers."""
    sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "torch"))
    import torch
    import torch.nn.functional as F
    import engine_test

    class Network(engine_test.Network):
        def __init__(self):
            super().__init__(engine_test.without_dropout(graph), None)
            self.parameters = []

        def take(self, *shape):
            if self.taken == len(self.parameters):
                scale = (2 / max(1, torch.Size(shape[1:]).numel())) ** 0.5 if len(shape) > 1 else 1
                self.parameters.append((torch.randn(*shape) * scale).requires_grad_(True))
            self.taken += 1
            return self.parameters[self.taken - 1]

        def conv(self, layer, x):
            left, right, top, bottom = engine_test.padding(layer, x.shape[2], x.shape[3])
            if left != right or top != bottom:
                return super().conv(layer, x)
            height, width = engine_test.pair(layer["kernel"])
            groups = layer.get("groups", 1)
            weight = self.take(layer["out"], x.shape[1] // groups, height, width)
            bias = self.take(layer["out"]) if layer.get("bias", True) else None
            return F.conv2d(x, weight, bias, engine_test.pair(layer.get("stride", 1)), (top, left), groups=groups)

        def relu(self, layer, x):
            return F.relu(x)

        def step(self, images, labels):
            self.taken, values, before, losses = 0, {"input": images}, "input", []
            for parameter in self.parameters:
                parameter.grad = None
            for layer in self.graph["layers"]:
                source = layer.get("from", before)
                given = [values[s] for s in (source if isinstance(source, list) else [source])]
                before = layer["name"]
                if layer["kind"] == "softmax":
                    losses.append(F.cross_entropy(given[0].flatten(1), labels))
                values[before] = self.output(layer, given)
            losses[-1].backward()

    return Network()


def torch_run(graph_file, batch, threads):
    """One repetition, in a process of its own: prints a line of JSON."""
    import torch
    torch.set_num_threads(threads)
    with open(graph_file, encoding="utf-8") as file:
        graph = json.load(file)
    torch.manual_seed(1)
    network = network_of(graph)
    torch.set_num_threads(threads)  # the module of the tests asks for one
    images, labels = torch.randn(batch, *graph["input"]), torch.ones(batch, dtype=torch.long)
    for _ in range(3):
        network.step(images, labels)
    begin, steps = time.perf_counter(), 0
    while time.perf_counter() - begin < SECONDS:
        network.step(images, labels)
        steps += 1
    rate = steps * batch / (time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"images_per_s": rate, "peak_bytes": peak, "build": f"PyTorch {torch.__version__}"}))


def engine_run(build, model, batch, threads):
    command = [os.path.join(build, "bench_host"), f"--benchmark_filter=^step/{model}_b{batch}/threads:{threads}/",
               f"--benchmark_min_time={SECONDS}", "--benchmark_format=json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["benchmarks"][0]
    return {"images_per_s": told["items_per_second"], "peak_bytes": told["peak_bytes"], "build": told["label"]}


def table_of(runs):
    lines = ["network            batch   engine, images/s (spread)   PyTorch, images/s (spread)   ratio   peak MB, engine  PyTorch"]
    for name, batch in CONFIGURATIONS:
        own = [r for r in runs if (r["model"], r["batch"]) == (name, batch)]
        if not own:
            continue
        rate = {k: sorted(r["images_per_s"] for r in own if r["of"] == k) for k in ("engine", "torch")}
        peak = {k: statistics.median(r["peak_bytes"] for r in own if r["of"] == k) / 1e6 for k in rate}
        middle = {k: statistics.median(v) for k, v in rate.items()}
        text = {k: f"{middle[k]:9,.1f} ({v[0]:,.1f} to {v[-1]:,.1f})" for k, v in rate.items()}
        lines.append(f"{name:18} {batch:5}   {text['engine']:27} {text['torch']:28} {middle['engine'] / middle['torch']:5.2f}"
                     f"   {peak['engine']:15,.0f}  {peak['torch']:7,.0f}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    words = parser.parse_args()
    os.makedirs(words.out, exist_ok=True)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:words.threads])
    runs = []
    for name, batch in CONFIGURATIONS:
        if words.only not in f"{name}_b{batch}":
            continue
        graph = os.path.join(words.out, "graph.json")
        with open(graph, "w", encoding="utf-8") as file:
            subprocess.run([os.path.join(words.build, "engine_dump"), "graph", name], stdout=file, check=True)
        for repeat in range(words.repeats):
            told = {"engine": engine_run(words.build, name, batch, words.threads)}
            child = subprocess.run([sys.executable, __file__, "--torch", graph, str(batch), str(words.threads)],
                                   capture_output=True, text=True, check=True)
            told["torch"] = json.loads(child.stdout)
            for of, run in told.items():
                runs.append({"of": of, "model": name, "batch": batch, "threads": words.threads, "repeat": repeat, **run})
        os.remove(graph)
    table = table_of(runs)
    with open(os.path.join(words.out, "runs.json"), "w", encoding="utf-8") as file:
        json.dump(runs, file, indent=1)
        file.write("\n")
    with open(os.path.join(words.out, "table.txt"), "w", encoding="utf-8") as file:
        file.write(table)
    print(table, end="")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--torch"]:
        torch_run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
