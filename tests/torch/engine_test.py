"""The engine beside PyTorch: gradients of networks of the zoo against autograd in double, and the trajectories of training
algorithms against the same written with tensors. Needs torch, and LOCKSTEP_BUILD with engine_dump."""
import json
import os
import subprocess
import tempfile
import unittest

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("LOCKSTEP_BUILD", os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
DUMP = os.path.join(BUILD, "engine_dump")
AUXILIARY_WEIGHT = 0.3  # of GoogLeNet's other heads

torch.set_num_threads(1)


def dump(*words):
    result = subprocess.run([DUMP, *map(str, words)], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, f"{words}: {result.stderr}"
    return result.stdout


def pair(value):
    return list(value) if isinstance(value, list) else [value, value]


def padding(layer, height, width):
    """Left, right, top, bottom, as F.pad takes them."""
    pad = layer.get("pad", 0)
    if pad == "same":
        sides = []
        for size, kernel, stride in zip((width, height), reversed(pair(layer["kernel"])), reversed(pair(layer.get("stride", 1)))):
            total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
            sides += [total // 2, total - total // 2]
        return sides
    sides = pad if isinstance(pad, list) else [pad, pad]
    top, left, bottom, right = (sides[0], sides[1], sides[0], sides[1]) if len(sides) == 2 else (sides[0], sides[2], sides[1], sides[3])
    return [left, right, top, bottom]


class Network:
    """lockstep/model/1 as functions of tensors; parameters are taken from one flat vector in the format's order."""

    def __init__(self, graph, parameters):
        self.graph, self.left = graph, parameters
        self.taken, self.parts = 0, []

    def take(self, *shape):
        count = 1
        for size in shape:
            count *= size
        # Each a leaf of its own: autograd gives a slice of the vector a gradient as long as the vector.
        part = self.left[self.taken:self.taken + count].view(*shape).clone().requires_grad_(True)
        self.taken += count
        self.parts.append(part)
        return part

    def gradient(self):
        """Of the loss, after its backward(), as one vector."""
        return torch.cat([part.grad.flatten() for part in self.parts])

    def loss(self, images, labels):
        values, before, losses = {"input": images}, "input", []
        for layer in self.graph["layers"]:
            source = layer.get("from", before)
            given = [values[s] for s in (source if isinstance(source, list) else [source])]
            before = layer["name"]
            if layer["kind"] == "softmax":
                losses.append(F.cross_entropy(given[0].flatten(1), labels))
            values[before] = self.output(layer, given)
        assert self.taken == self.left.numel()
        return losses[-1] + AUXILIARY_WEIGHT * sum(losses[:-1])

    def output(self, layer, given):
        x, kind = given[0], layer["kind"]
        return getattr(self, kind)(layer, given if kind in ("add", "concat") else x)

    def conv(self, layer, x):
        height, width = pair(layer["kernel"])
        groups = layer.get("groups", 1)
        weight = self.take(layer["out"], x.shape[1] // groups, height, width)
        bias = self.take(layer["out"]) if layer.get("bias", True) else None
        x = F.pad(x, padding(layer, x.shape[2], x.shape[3]))
        return F.conv2d(x, weight, bias, pair(layer.get("stride", 1)), groups=groups)

    def fc(self, layer, x):
        x = x.flatten(1)
        weight = self.take(layer["out"], x.shape[1])
        bias = self.take(layer["out"]) if layer.get("bias", True) else None
        return F.linear(x, weight, bias)[:, :, None, None]

    def batch_norm(self, layer, x):
        gamma, beta = self.take(x.shape[1]), self.take(x.shape[1])
        return F.batch_norm(x, None, None, gamma, beta, training=True, eps=1e-5)

    def relu(self, layer, x):
        return F.relu(x)

    def lrn(self, layer, x):  # Krizhevsky et al. 2012: k = 2, 5 channels, alpha not divided by them
        return F.local_response_norm(x, 5, alpha=5e-4, beta=0.75, k=2)

    def pooled(self, layer, x, fill):
        sides, window, stride = padding(layer, x.shape[2], x.shape[3]), pair(layer["kernel"]), pair(layer["stride"])
        if layer.get("ceil"):  # a window that would begin in the padding behind is dropped
            for axis, (size, after) in enumerate(((x.shape[2], 3), (x.shape[3], 1))):
                room = size + sides[after - 1] + sides[after]
                outputs = -(-(room - window[axis]) // stride[axis]) + 1
                if (outputs - 1) * stride[axis] >= size + sides[after - 1]:
                    outputs -= 1
                sides[after] += max(0, (outputs - 1) * stride[axis] + window[axis] - room)
        return F.pad(x, sides, value=fill), window, stride

    def max_pool(self, layer, x):
        x, window, stride = self.pooled(layer, x, float("-inf"))
        return F.max_pool2d(x, window, stride)

    def avg_pool(self, layer, x):  # over the image's own pixels
        ones, window, stride = self.pooled(layer, torch.ones_like(x), 0.0)
        x, _, _ = self.pooled(layer, x, 0.0)
        return F.avg_pool2d(x, window, stride) / F.avg_pool2d(ones, window, stride)

    def global_avg_pool(self, layer, x):
        return x.mean((2, 3), keepdim=True)

    def add(self, layer, given):
        return sum(given[1:], given[0])

    def concat(self, layer, given):
        return torch.cat(given, 1)

    def subsample(self, layer, x):
        x = x[:, :, ::layer["stride"], ::layer["stride"]]
        return F.pad(x, (0, 0, 0, 0, 0, layer["out"] - x.shape[1]))

    def softmax(self, layer, x):
        return x


def without_dropout(graph):
    """Who reads a dropout reads what it reads: what it drops is drawn by the engine alone."""
    names, layers, before, given = {}, [], "input", "input"
    for layer in graph["layers"]:
        source = layer.get("from", given)
        source = [names.get(s, s) for s in source] if isinstance(source, list) else names.get(source, source)
        given = layer["name"]
        if layer["kind"] == "dropout":
            names[layer["name"]] = source
            continue
        layers.append({**layer, "from": source})
    return {**graph, "layers": layers}


def narrower(graph):
    """A quarter of the channels: every kind of layer, stride and padding as before, a sixteenth of the work."""
    def narrow(layer):
        changed = {key: -(-layer[key] // 4) for key in ("out", "groups") if layer.get(key, 1) > 1 and layer["kind"] != "fc"}
        return {**layer, **changed}

    return {**graph, "layers": [narrow(layer) for layer in graph["layers"]]}


def relative(a, b):
    return float((a - b).norm() / b.norm())


# A network of each family; ImageNet's on smaller images where they pool over whatever is left of them, large ones narrower.
NETWORKS = [("lenet_caffe", None), ("lenet_crossbow", None), ("cifar10_quick", None), ("resnet32_crossbow", None),
            ("vgg16_cifar100", None), ("googlenet_aux", None), ("resnet18", 64), ("resnet50", 64), ("densenet121", 64),
            ("mobilenet_v1", 64), ("squeezenet", 64)]
NARROWED = {"vgg16_cifar100", "googlenet_aux", "resnet18", "resnet50", "densenet121"}


class Gradients(unittest.TestCase):
    def check(self, name, side):
        graph = without_dropout(json.loads(dump("graph", name)))
        if name in NARROWED:
            graph = narrower(graph)
        if side is not None:
            graph["input"] = [graph["input"][0], side, side]
        with tempfile.TemporaryDirectory() as folder:
            model, out = os.path.join(folder, "model.json"), os.path.join(folder, "out")
            with open(model, "w", encoding="utf-8") as file:
                json.dump(graph, file)
            dump("gradients", model, 2, out)
            with open(out, "rb") as file:
                head = json.loads(file.readline())
                values = torch.frombuffer(bytearray(file.read()), dtype=torch.float64)
        images, parameters, gradients = values.split([head["images"], head["parameters"], head["gradients"]])
        network = Network(graph, parameters)
        loss = network.loss(images.view(2, *graph["input"]), torch.tensor(head["labels"]))
        loss.backward()
        self.assertLess(abs(float(loss) / head["loss"] - 1), 1e-9)
        self.assertLess(relative(gradients, network.gradient()), 1e-9)


for network, side in NETWORKS:
    setattr(Gradients, f"test_{network}", lambda self, network=network, side=side: self.check(network, side))


class Trajectories(unittest.TestCase):
    """30 steps of each algorithm as its paper has it, in double, against the engine's in float."""
    GRAPH = {"schema": "lockstep/model/1", "name": "small", "input": [2, 6, 6], "layers": [
        {"name": "c", "kind": "conv", "out": 4, "kernel": 3, "pad": 1}, {"name": "n", "kind": "batch_norm"},
        {"name": "r", "kind": "relu"}, {"name": "p", "kind": "avg_pool", "kernel": 2, "stride": 2},
        {"name": "f", "kind": "fc", "out": 5}, {"name": "s", "kind": "softmax"}]}
    STEPS, BATCH = 30, 4

    def run_engine(self, algorithm):
        with tempfile.TemporaryDirectory() as folder:
            model, out = os.path.join(folder, "model.json"), os.path.join(folder, "out.json")
            with open(model, "w", encoding="utf-8") as file:
                json.dump(self.GRAPH, file)
            dump("trajectory", algorithm, model, self.BATCH, self.STEPS, out)
            with open(out, encoding="utf-8") as file:
                self.told = json.load(file)
        self.rate, self.mu, self.decay = (self.told[k] for k in ("learning_rate", "momentum", "weight_decay"))
        return torch.tensor(self.told["initial"], dtype=torch.float64)

    def gradient(self, parameters, learner, step):
        batch = self.told["batches"][f"{step} {learner}"]
        images = torch.tensor(batch["images"], dtype=torch.float64).view(self.BATCH, *self.GRAPH["input"])
        network = Network(self.GRAPH, parameters)
        network.loss(images, torch.tensor(batch["labels"])).backward()
        return network.gradient()

    def agrees(self, w, initial, tolerance=1e-6):
        trained = torch.tensor(self.told["trained"], dtype=torch.float64)
        self.assertLess(relative(w, trained), tolerance)
        self.assertGreater(relative(initial, trained), 0.01)  # it has trained

    def momentum_steps(self, initial, gradient_of):
        w, v = initial.clone(), torch.zeros_like(initial)
        for t in range(self.STEPS):
            v = self.mu * v - self.rate * (gradient_of(w, t) + self.decay * w)
            w = w + v
        self.agrees(w, initial)

    def test_s_sgd(self):
        initial, k = self.run_engine("s-sgd"), self.told["learners"]
        self.momentum_steps(initial, lambda w, t: sum(self.gradient(w, j, t) for j in range(k)) / k)

    def optimizer_steps(self, name, tolerance, optimizer_of):
        # A bias before batch norm has no gradient but rounding, which Adam would enlarge to whole steps.
        layers = [{**layer, "bias": False} if layer["kind"] == "conv" else layer for layer in self.GRAPH["layers"]]
        self.GRAPH = {**self.GRAPH, "layers": layers}
        initial, k = self.run_engine(name), self.told["learners"]
        w = initial.clone().requires_grad_(True)
        optimizer = optimizer_of([w])
        for t in range(self.STEPS):
            w.grad = sum(self.gradient(w.detach(), j, t) for j in range(k)) / k
            optimizer.step()
        self.agrees(w.detach(), initial, tolerance)

    def test_momentum_is_pytorchs(self):
        self.optimizer_steps("momentum", 1e-6, lambda w: torch.optim.SGD(w, self.rate, momentum=self.mu, weight_decay=self.decay))

    def test_nesterov_is_pytorchs(self):
        self.optimizer_steps("nesterov", 1e-6, lambda w: torch.optim.SGD(w, self.rate, momentum=self.mu, weight_decay=self.decay,
                                                                         nesterov=True))

    # Where a gradient changes its sign, Adam's step divides a small difference by a small root.
    def test_adam_is_pytorchs(self):
        self.optimizer_steps("adam", 1e-4, lambda w: torch.optim.Adam(w, self.rate, weight_decay=self.decay))

    def test_adamw_is_pytorchs(self):
        self.optimizer_steps("adamw", 1e-4, lambda w: torch.optim.AdamW(w, self.rate, weight_decay=self.decay))

    def test_backup_workers(self):
        initial = self.run_engine("backup-workers")
        self.assertGreater(len({tuple(sorted(used)) for used in self.told["used"]}), 1)  # not always the same are late
        self.momentum_steps(initial, lambda w, t: sum(self.gradient(w, j, t) for j in self.told["used"][t]) / 2)

    def test_stale_gradients(self):
        initial, past = self.run_engine("async-sgd"), []

        def gradient_of(w, t):
            past.append(w)
            return sum(self.gradient(past[t - min(t, 3)], j, t) for j in range(2)) / 2

        self.momentum_steps(initial, gradient_of)

    def test_sma(self):
        initial, k, tau = self.run_engine("sma"), self.told["learners"], 2
        w, z, before = [initial.clone() for _ in range(k)], initial.clone(), initial.clone()
        for t in range(self.STEPS):
            meets = (t + 1) % tau == 0
            steps = [self.rate * (self.gradient(w[j], j, t) + self.decay * w[j]) for j in range(k)]
            corrections = [(w[j] - z) / k if meets else 0 for j in range(k)]
            w = [w[j] - steps[j] - corrections[j] for j in range(k)]
            if meets:
                z, before = z + sum(corrections) + self.mu * (z - before), z
        self.agrees(z, initial)

    def test_ea_sgd(self):
        initial, k, tau = self.run_engine("ea-sgd"), self.told["learners"], 2
        w, z = [initial.clone() for _ in range(k)], initial.clone()
        for t in range(self.STEPS):
            meets = (t + 1) % tau == 0
            forces = [0.9 / k * (w[j] - z) if meets else 0 for j in range(k)]
            w = [w[j] - self.rate * (self.gradient(w[j], j, t) + self.decay * w[j]) - forces[j] for j in range(k)]
            z = z + sum(forces) if meets else z
        self.agrees(z, initial)


if __name__ == "__main__":
    unittest.main()
