#!/usr/bin/env python3
"""Measures a PyTorch training job for Lockstep: the network layer by layer, whole steps, collectives.

    python3 lockstep_probe.py my_model.py:build --batches 8,16,32 -o probe.jsonl
    torchrun --nproc-per-node 2 lockstep_probe.py my_model.py:build --batches 8,16,32 -o probe2.jsonl
    build/calibrate import torch-probe probe.jsonl probe2.jsonl -o profile.json

(`lockstep calibrate import ...` where Lockstep is installed; the probe names the command.)

build() returns (model, batch, loss, optimizer), where batch(size) gives (inputs, targets). Around a loop of your own:

    with lockstep_probe.measure(model, optimizer, "probe.jsonl") as probe:
        ...train a few dozen steps...

One file, which needs nothing but torch (1.13 to 2.x, CPU or CUDA). calib/README.md describes what is measured and the
file that is written.
"""
import argparse
import contextlib
import gc
import importlib.util
import json
import math
import os
import platform
import signal
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

try:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError as missing:
    sys.exit(f"lockstep_probe: {missing} (by {sys.executable}); allowed: the python of the environment that trains, with torch 1.13 "
             "to 2.x")

SCHEMA = "lockstep/torch-probe/1"
KIB = 1024
MIB = 1024 * 1024


class ProbeError(Exception):
    """What the user can mend; one line."""


# ---- the file that is written ----------------------------------------------------------------------------------------


class Log:
    """JSON lines, on disk as soon as they are measured; without a path (other ranks) it keeps nothing.

    {"schema", "run"} begins each run, {"graph"} is the network, {"series", "probe", "key"} declares a series whose times
    follow as {"at", "seconds"} and whose end is {"done"}; {"pass", "forward", "backward"} is a pass by layers, {"said"}
    what was left out or noticed, {"noise_scale"} is the gradient noise scale."""

    def __init__(self, path, resume=False):
        self.path, self.file, self.next_id, self.finished, self.graph, self.last_run = path, None, 0, set(), None, None
        self.has_noise_scale = False
        if path is None:
            return
        if os.path.exists(path) and os.path.getsize(path) > 0:
            if not resume:
                raise ProbeError(f"{path}: is there already; allowed: --resume, or another -o")
            self._read()
        self.file = open(path, "a", encoding="utf-8")

    def _read(self):
        with open(self.path, "rb") as file:
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]  # a killed run may have left half a line
        ids = {}
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
            except ValueError:
                raise ProbeError(f"{self.path} line {number}: is no JSON; allowed: a file of this probe") from None
            if number == 1 and entry.get("schema") != SCHEMA:
                raise ProbeError(f"{self.path} line 1: is no file of this probe; allowed: \"schema\": \"{SCHEMA}\"")
            self.last_run = entry.get("run", self.last_run)
            self.graph = entry.get("graph", self.graph)
            self.has_noise_scale = self.has_noise_scale or "noise_scale" in entry
            if "series" in entry:
                ids[entry["series"]] = series_id(entry["probe"], entry["key"])
                self.next_id = max(self.next_id, entry["series"] + 1)
            if "done" in entry:
                self.finished.add(ids.get(entry["done"]))
        if len(whole) < len(text):
            with open(self.path, "r+b") as file:
                file.truncate(len(whole))

    def write(self, entry):
        if self.file is None:
            return
        self.file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def begin(self, probe, key, again=False):
        number, self.next_id = self.next_id, self.next_id + 1
        entry = {"series": number, "probe": probe, "key": key}
        if again:
            entry["again"] = True
        self.write(entry)
        return number

    def close(self):
        if self.file is not None:
            self.file.close()

    def write_pass(self, number, times):
        forward, backward = ([round(t, 9) for t in part] for part in times)
        self.write({"pass": number, "forward": forward, "backward": backward})

    def say(self, text):
        if self.file is not None:
            print(f"lockstep_probe: {text}", file=sys.stderr)
        self.write({"said": text})


def series_id(probe, key):
    return probe + " " + json.dumps(key, sort_keys=True)


# ---- processes -------------------------------------------------------------------------------------------------------


class Processes:
    """This process among those of torchrun; alone without it. What keeps them in step goes over gloo."""

    def __init__(self, backend=None):
        self.rank, self.count = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.local_rank = int(os.environ.get("LOCAL_RANK", 0))
        self.local_count = int(os.environ.get("LOCAL_WORLD_SIZE", self.count))
        self.nodes = max(1, self.count // max(1, self.local_count))
        self.library, self.control = None, None
        if self.count > 1:
            if not dist.is_initialized():
                # PyTorch of Debian 13 is built without libuv, and asks for it all the same.
                os.environ.setdefault("USE_LIBUV", "0")
                dist.init_process_group(backend or ("nccl" if torch.cuda.is_available() else "gloo"))
            self.library = dist.get_backend()
            self.control = dist.new_group(backend="gloo")

    def meet(self):
        if self.control is not None:
            dist.barrier(group=self.control)

    def slowest(self, values):
        if self.control is None or not values:
            return values
        all_values = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(all_values, op=dist.ReduceOp.MAX, group=self.control)
        return all_values.tolist()

    def of_first(self, values):
        """The first process's numbers, in all processes."""
        if self.control is None or not values:
            return values
        told = torch.tensor(values, dtype=torch.float64)
        dist.broadcast(told, src=0, group=self.control)
        return told.tolist()


def start_processes(count, words):
    """As torchrun --nproc-per-node does, which Debian's torch 1.13 cannot under Python 3.11. The first to fail ends all."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for rank in range(count):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count,
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        environment = {**os.environ, **{name: str(value) for name, value in place.items()}}
        started.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), *words], env=environment))
    status = 0
    try:
        while any(one.poll() is None for one in started) and status == 0:
            time.sleep(0.05)
            status = next((one.returncode for one in started if one.returncode), 0)
    finally:
        for one in started:
            if one.poll() is None and (status != 0 or sys.exc_info()[0] is not None):
                one.terminate()
            one.wait()
    return status or next((one.returncode for one in started if one.returncode), 0)


# ---- the network as a graph ------------------------------------------------------------------------------------------

WHOLE = (nn.MultiheadAttention,)  # modules whose children are not called as modules
REDUCED = {torch.float16: "fp16", torch.bfloat16: "bf16"}


def is_leaf(module):
    return isinstance(module, WHOLE) or next(module.children(), None) is None


def leaves_of(model):
    """Names and modules that a graph's layers are, each once; what lies inside of one is its own business."""
    found, inside = [], set()
    for name, module in model.named_modules():
        if id(module) in inside or not is_leaf(module):
            continue
        inside.update(id(child) for child in module.modules())
        found.append((name or type(module).__name__, module))
    return found


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, nn.Module)) and not callable(value):
        for item in vars(value).values():  # dataclasses of outputs
            if isinstance(item, (torch.Tensor, list, tuple, dict)):
                yield from tensors_in(item)


def storage_of(tensor):
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()


def macs_of(name, args, out):
    """Multiply-adds of one operator of ATen, 0 for what is none of a matrix."""
    if name == "convolution":
        x, weight, transposed = args[0], args[1], args[6]
        return (x if transposed else out).numel() * (weight.numel() // weight.shape[0])
    if name in ("mm", "bmm"):
        return args[0].numel() * args[1].shape[-1]
    if name in ("addmm", "baddbmm"):
        return args[1].numel() * args[2].shape[-1]
    if name == "linear":
        return out.numel() * args[1].shape[-1]
    if name.startswith("_scaled_dot_product"):
        q, k, v = args[:3]
        return q.numel() * k.shape[-2] + q.numel() // q.shape[-1] * k.shape[-2] * v.shape[-1]
    return 0


class Operator:
    """One operator that did work: what it read and what it wrote, as storages."""

    def __init__(self, name, args, reads, out, macs):
        self.name, self.args, self.reads, self.out, self.macs = name, args, reads, out, macs


class Part:
    """What ran from one boundary to the next: a leaf module's call, or the functions between two of them."""

    def __init__(self, name, module):
        self.name, self.module, self.operators, self.index = name, module, [], None
        self.first_input, self.output, self.read_as = None, None, None  # tensors; a view that the next module reads


class Trace(TorchDispatchMode):
    """Watches one forward pass, and the loss: parts in the order in which they run."""

    def __init__(self, model):
        super().__init__()
        self.parts, self.open, self.scopes, self.kept, self.handles = [], None, [], [], []
        self.dtypes = {}
        for name, module in model.named_modules():
            if not is_leaf(module):
                self.handles.append(module.register_forward_pre_hook(lambda m, x, n=name: self.scopes.append(n)))
                self.handles.append(module.register_forward_hook(lambda m, x, y: self._leave()))
        for name, module in leaves_of(model):
            self.handles.append(module.register_forward_pre_hook(lambda m, x, n=name: self.enter(n, m, x)))
            self.handles.append(module.register_forward_hook(lambda m, x, y: self._close(y)))
        self.between()

    def enter(self, name, module, inputs):
        before, self.open = self.open, Part(name, module)
        self.open.first_input = next(tensors_in(inputs), None)
        if before.operators and self.open.first_input is not None:
            last = before.operators[-1].out
            if last and storage_of(last[0]) == storage_of(self.open.first_input):
                before.read_as = self.open.first_input
        self.parts.append(self.open)

    def _close(self, out):
        self.open.output = next(tensors_in(out), None)
        self.between()

    def _leave(self):
        if self.scopes:  # the model's own begin is not seen where a hook of it starts the trace
            self.scopes.pop()

    def between(self, name=None):
        self.open = Part(name, None)
        self.parts.append(self.open)

    def remove_hooks(self):
        for handle in self.handles:
            handle.remove()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func.__name__.split(".")[0]
        outputs = list(tensors_in(out))
        inputs = list(tensors_in(args)) + list(tensors_in(kwargs or {}))
        self.kept.append((outputs, inputs))  # no storage's address is used twice
        reads = [storage_of(x) for x in inputs]
        is_view = not name.endswith("_") and all(storage_of(y) in reads for y in outputs)
        if is_view or not inputs:
            return out
        macs = macs_of(name, args, outputs[0]) if outputs else 0
        if macs > 0:
            self.dtypes[outputs[0].dtype] = self.dtypes.get(outputs[0].dtype, 0) + macs
        if self.open.name is None:
            self.open.name = (self.scopes[-1] + "/" if self.scopes and self.scopes[-1] else "") + name.strip("_")
        self.open.operators.append(Operator(name, args, reads, outputs, macs))
        return out


def pair(value):
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


class Graph:
    """The parts of a trace as layers of lockstep/model/1. A part whose kind, shape or count the format does not hold
    exactly becomes one opaque layer with the shape, the parameters and the multiply-adds that were seen."""

    def __init__(self, name, model, trace, inputs, batch):
        self.layers, self.shapes, self.batch, self.name = [], [], batch, name
        self.names, self.owners, self.producers = {"input"}, {}, {}
        self.parameters = {storage_of(p): p for p in model.parameters()}
        first = next(tensors_in(inputs))
        self.producers.update({storage_of(x): "input" for x in tensors_in(inputs)})
        self.shape_by_name = {"input": self.shape(first)}
        self.input, self.tokens = self.shape_by_name["input"], tokens_per_sample(inputs)
        for part in trace.parts:
            part.index = self._add(part)
        self._close()
        self.unused = [n for n, p in model.named_parameters() if p.requires_grad and storage_of(p) not in self.owners]
        half = sum(macs for dtype, macs in trace.dtypes.items() if dtype in REDUCED)
        full = sum(macs for dtype, macs in trace.dtypes.items() if dtype not in REDUCED)
        self.precision = "fp32"
        if half > full:
            self.precision = REDUCED[max((d for d in trace.dtypes if d in REDUCED), key=lambda d: trace.dtypes[d])]
        elif first.is_cuda and torch.backends.cuda.matmul.allow_tf32:
            self.precision = "tf32"

    def json(self):
        tokens = {"tokens": self.tokens} if self.tokens else {}
        return {"schema": "lockstep/model/1", "name": self.name, **tokens, "input": self.input, "layers": self.layers}

    def shape(self, tensor, is_shared=False):
        """Of one sample, channels first; vectors of a sequence are channels x positions x 1. `is_shared`: a tensor for
        all samples, as the embeddings of positions are."""
        dims = list(tensor.shape)
        if not dims or (dims[0] != self.batch and not is_shared):
            return [max(1, tensor.numel() // self.batch if tensor.numel() % self.batch == 0 else tensor.numel()), 1, 1]
        rest = dims[1:] if dims[0] in (1, self.batch) else dims
        if len(rest) == 2:
            return [rest[1], rest[0], 1]
        if len(rest) > 3:
            return [rest[0], math.prod(rest[1:-1]), rest[-1]]
        return rest + [1] * (3 - len(rest))

    def _add(self, part):
        """Index of the part's first layer; None for one that did no work."""
        if not part.operators:
            return None
        index = len(self.layers)
        if part.module is None and all(self._known_function(o) for o in part.operators):
            for operator in part.operators:
                kind = self._known_function(operator)
                self._append(self._unique(f"{part.name.rsplit('/', 1)[0]}/{kind['kind']}" if "/" in part.name else
                                          kind["kind"]), [operator], [], kind)
            if part.read_as is not None and self.layers[-1]["kind"] == "opaque":
                self.layers[-1]["out"][:] = self.shape(part.read_as)
            return index
        owned, out = self._own(part), part.output if part.output is not None else part.read_as
        x = part.first_input
        is_shared = part.module is not None and x is not None and x.dim() > 0 and x.shape[0] != self.batch
        shape = self.shape(out, is_shared) if out is not None else None
        self._append(self._unique(part.name), part.operators, owned, self._known_module(part, owned), shape)
        return index

    def _unique(self, name):
        unique, n = name, 1
        while unique in self.names:
            n += 1
            unique = f"{name}:{n}"
        self.names.add(unique)
        return unique

    def _own(self, part):
        """Trainable parameters that no layer before has read: a shared one is the first reader's."""
        seen = {s for o in part.operators for s in o.reads if s in self.parameters}
        order = [storage_of(p) for p in part.module.parameters()] if part.module is not None else []
        order = [s for s in order if s in seen] + sorted(seen - set(order))
        owned = [s for s in order if s not in self.owners and self.parameters[s].requires_grad]
        self.owners.update({s: part.name for s in order if s not in self.owners})
        return [self.parameters[s].numel() for s in owned]

    def _sources(self, operators):
        mine, sources = set(), []
        for operator in operators:
            for storage in operator.reads:
                name = self.producers.get(storage)
                if storage not in mine and name is not None and name not in sources:
                    sources.append(name)
            mine.update(storage_of(y) for y in operator.out)
        return sources or ["input"]

    def _append(self, name, operators, owned, kind, shape=None):
        sources = self._sources(operators)
        if name == "loss" and len(sources) > 1:  # targets may be the inputs, shifted
            sources = [s for s in sources if s != "input"]
        out = next((o.out[0] for o in reversed(operators) if o.out and o.out[0].is_floating_point()), None)
        shape = shape or (self.shape(out) if out is not None else [1, 1, 1])
        macs = sum(o.macs for o in operators) // self.batch
        layer = self._exact(kind, sources, shape, owned, macs) if kind else None
        if layer is None:
            layer = {"kind": "opaque", "out": shape}
            if owned:
                layer["parameters"] = owned
            if macs > 0:
                layer["macs"] = macs
            if not (self.layers and sources == [self.layers[-1]["name"]]):
                layer["from"] = sources if len(sources) > 1 else sources[0]
        self.layers.append({"name": name, **layer})
        self.shape_by_name[name] = shape
        for operator in operators:
            for y in operator.out:
                self.producers[storage_of(y)] = name

    def _exact(self, kind, sources, shape, owned, macs):
        """The layer in the format's own terms where those give the shape, the parameters and the multiply-adds that
        were seen; else None."""
        kind = dict(kind)
        expected, expected_macs = kind.pop("owned", []), kind.pop("macs", 0)
        before = kind.pop("in", None)
        is_join = kind["kind"] in ("add", "concat")
        if expected != owned or expected_macs != macs or (len(sources) > 1) != is_join:
            return None
        given = [self.shape_by_name[s] for s in sources]
        elements = math.prod(shape)
        name = kind["kind"]
        if name in ("batch_norm", "relu", "dropout", "lrn") and math.prod(given[0]) != elements:
            return None
        if name in ("batch_norm", "relu", "dropout", "lrn", "softmax"):
            shape[:] = given[0]
        if name == "batch_norm" and given[0][0] != (owned[0] if owned else 0):
            return None
        if name == "add" and any(math.prod(g) != elements or g != given[0] for g in given):
            return None
        if name == "add":
            shape[:] = given[0]
        if name == "concat" and (any(g[1:] != shape[1:] for g in given) or sum(g[0] for g in given) != shape[0]):
            return None
        if name == "fc" and math.prod(given[0]) != before:
            return None
        if name == "global_avg_pool" and given[0][0] != shape[0]:
            return None
        if name in ("conv", "max_pool", "avg_pool") and given[0] != before:
            return None
        if is_join:
            kind["from"] = sources
        elif not (self.layers and sources == [self.layers[-1]["name"]]) and (self.layers or sources != ["input"]):
            kind["from"] = sources[0]
        return kind

    def _known_function(self, operator):
        name, args, out = operator.name, operator.args, operator.out[0]
        if name in ("add", "add_") and isinstance(args[1], torch.Tensor) and args[0].shape == args[1].shape:
            return {"kind": "add"} if not any(s in self.parameters for s in operator.reads) else None
        if name in ("relu", "relu_"):
            return {"kind": "relu"}
        if name == "cat" and (args[1] if len(args) > 1 else 0) == 1 and out.dim() in (2, 4):
            return {"kind": "concat"}
        if name == "mean" and args[0].dim() == 4 and len(args) > 1 and sorted(d % 4 for d in args[1]) == [2, 3]:
            return {"kind": "global_avg_pool"}
        if name == "_adaptive_avg_pool2d" and list(args[1]) == [1, 1]:
            return {"kind": "global_avg_pool"}
        if name in ("max_pool2d_with_indices", "avg_pool2d"):
            more = list(args[2:]) + [[], 0, [1], False][len(args) - 2:]
            dilation, ceil = (more[2], more[3]) if name.startswith("max") else ([1], more[2] is True)
            if all(d == 1 for d in pair(dilation)):
                return self._pool(name[:3], args[0], args[1], more[0] or args[1], more[1], bool(ceil))
        return None

    def _pool(self, which, x, kernel, stride, pad, ceil):
        kind = {"kind": f"{which}_pool", "in": self.shape(x), "kernel": (pair(kernel) * 2)[:2],
                "stride": (pair(stride) * 2)[:2], "pad": (pair(pad) * 2)[:2]}
        if ceil:
            kind["ceil"] = True
        return kind

    def _known_module(self, part, owned):
        m, x = part.module, part.first_input
        if part.name == "loss":
            names = [o.name for o in part.operators]
            return {"kind": "softmax"} if names[0] == "_log_softmax" and len(names) == 2 else None
        if m is None or x is None:
            return None
        weights = [p.numel() for p in m.parameters() if p.requires_grad]
        has_all = weights == owned and len(weights) == len(list(m.parameters()))
        if isinstance(m, nn.Conv2d) and not isinstance(m, nn.ConvTranspose2d) and has_all:
            return self._convolution(m, x, part, owned, pair(m.kernel_size), pair(m.stride), m.padding, self.shape(x))
        if isinstance(m, nn.Conv1d) and has_all and not isinstance(m.padding, str):
            shape = [x.shape[1], x.shape[2], 1]
            return self._convolution(m, x, part, owned, [m.kernel_size[0], 1], [m.stride[0], 1], [m.padding[0], 0], shape)
        if isinstance(m, nn.Linear) and has_all and x.dim() == 2:
            return self._with_bias(m, {"kind": "fc", "out": m.out_features, "owned": owned, "in": m.in_features,
                                       "macs": m.in_features * m.out_features})
        if isinstance(m, nn.Linear) and has_all and x.dim() == 3:  # each position on its own: a 1x1 convolution
            return self._with_bias(m, {"kind": "conv", "out": m.out_features, "kernel": 1, "owned": owned,
                                       "in": self.shape(x), "macs": m.in_features * m.out_features * x.shape[1]})
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)) and m.affine and has_all:
            return {"kind": "batch_norm", "owned": owned}
        for kind, classes in {"relu": nn.ReLU, "dropout": (nn.Dropout, nn.Dropout2d),
                              "lrn": nn.LocalResponseNorm}.items():
            if isinstance(m, classes):
                return {"kind": kind}
        if isinstance(m, nn.MaxPool2d) and all(d == 1 for d in pair(m.dilation)):
            return self._pool("max", x, m.kernel_size, m.stride, m.padding, m.ceil_mode)
        if isinstance(m, nn.AvgPool2d):
            return self._pool("avg", x, m.kernel_size, m.stride, m.padding, m.ceil_mode)
        if isinstance(m, nn.AdaptiveAvgPool2d) and pair(m.output_size) == [1, 1]:
            return {"kind": "global_avg_pool"}
        return None

    def _convolution(self, m, x, part, owned, kernel, stride, pad, shape):
        if isinstance(pad, str) or any(d != 1 for d in m.dilation) or m.padding_mode != "zeros" or x.dim() < 3:
            return None
        kind = {"kind": "conv", "out": m.out_channels, "kernel": kernel, "stride": stride, "pad": pair(pad),
                "owned": owned, "in": shape, "macs": sum(o.macs for o in part.operators) // self.batch}
        if m.groups > 1:
            kind["groups"] = m.groups
        return self._with_bias(m, kind)

    @staticmethod
    def _with_bias(m, kind):
        return kind if m.bias is not None else {**kind, "bias": False}

    def _close(self):
        """Every layer is read by another: what only the outside reads goes into the last one."""
        read = {"input"}
        for i, layer in enumerate(self.layers):
            source = layer.get("from", self.layers[i - 1]["name"] if i else "input")
            read.update(source if isinstance(source, list) else [source])
        loose = [layer["name"] for layer in self.layers[:-1] if layer["name"] not in read and layer["kind"] != "softmax"]
        if not loose:
            return
        last, shape = self.layers[-1], self.shape_by_name[self.layers[-1]["name"]]
        before = last.get("from", self.layers[-2]["name"])
        kept = {"parameters": last["parameters"]} if "parameters" in last else {}
        self.layers[-1] = {"name": last["name"], "kind": "opaque", "out": shape, **kept,
                           "from": (before if isinstance(before, list) else [before]) + loose}


def unwrapped(model):
    """Without what DistributedDataParallel and torch.compile put around it."""
    while True:
        inner = getattr(model, "_orig_mod", None) or (
            model.module if isinstance(model, nn.parallel.DistributedDataParallel) else None)
        if inner is None:
            return model
        model = inner


# ---- time per layer --------------------------------------------------------------------------------------------------


class Clock:
    """Marks of time: events of the current stream on CUDA, else a clock of the processor."""

    def __init__(self, device):
        self.is_cuda = device.type == "cuda"

    def mark(self):
        if not self.is_cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, a, b):
        return a.elapsed_time(b) * 1e-3 if self.is_cuda else b - a

    def wait(self):
        if self.is_cuda:
            torch.cuda.synchronize()


class LayerTimer:
    """Times the parts of one pass: forward by hooks around leaf modules, backward by hooks behind each node of autograd,
    which belongs to the part that made it."""

    def __init__(self, model, trace, clock):
        self.clock, self.calls, self.leaves = clock, [], leaves_of(model)
        self.names = [p.name for p in trace.parts if p.module is not None]
        # A part without work has no layer: its time is its neighbour's.
        owners, last = [], None
        for part in trace.parts:
            last = part.index if part.index is not None else last
            owners.append(last)
        first = next((o for o in owners if o is not None), 0)
        self.owners = [first if o is None else o for o in owners]
        self.handles = []

    def __enter__(self):
        self.calls, self.made = [], []
        for name, module in self.leaves:
            self.handles.append(module.register_forward_pre_hook(lambda m, x, n=name: self._boundary(n, x)))
            self.handles.append(module.register_forward_hook(lambda m, x, y: self._boundary(None, y)))
        self.marks, self.is_forward = [self.clock.mark()], True
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def _boundary(self, name, tensors):
        if not self.is_forward:
            return  # recomputed in the backward pass by checkpointing
        self.marks.append(self.clock.mark())
        self.made.append([t.grad_fn for t in tensors_in(tensors) if t.grad_fn is not None])
        if name is not None:
            self.calls.append(name)

    def end_model(self, out):
        self._boundary(None, out)

    def end_forward(self, result):
        """Behind the model and the loss: every node of autograd learns whose it is."""
        self._boundary(None, result)
        self.claim_nodes()

    def claim_nodes(self):
        self.is_forward = False
        self.ok = self.calls == self.names and len(self.made) <= len(self.owners)
        self.nodes, self.stamps = set(), []
        for owner, made in zip(self.owners, self.made):
            self._claim(owner, made)

    def _claim(self, owner, nodes):
        nodes = list(nodes)
        while nodes:
            node = nodes.pop()
            if node in self.nodes:
                continue
            self.nodes.add(node)
            self.handles.append(node.register_hook(lambda *_, o=owner: self.stamps.append((o, self.clock.mark()))))
            nodes.extend(n for n, _ in node.next_functions if n is not None)

    def times(self, layers, backward_began):
        """Seconds forward and backward of each layer; None where the network took another way than when traced."""
        if not self.ok:
            return None
        forward, backward = [0.0] * layers, [0.0] * layers
        for owner, a, b in zip(self.owners, self.marks, self.marks[1:]):
            forward[owner] += self.clock.between(a, b)
        before = backward_began
        for owner, mark in self.stamps:
            backward[owner] += self.clock.between(before, mark)
            before = mark
        return forward, backward


# ---- the job ---------------------------------------------------------------------------------------------------------

KNOWN_OPTIMIZERS = ("sgd", "momentum", "lars", "adam", "lamb", "adafactor")  # of `simulate job --optimizer`
OPTIMIZERS = {"adamw": "adam", "adam": "adam", "lamb": "lamb", "lars": "lars", "adafactor": "adafactor"}


def optimizer_name(optimizer):
    name = type(optimizer).__name__.lower()
    if name == "sgd":
        return "momentum" if any(g.get("momentum", 0) for g in optimizer.param_groups) else "sgd"
    return OPTIMIZERS.get(name, name)


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(v, device) for v in value)
    if isinstance(value, dict):
        return {k: moved(v, device) for k, v in value.items()}
    return value


def has_convolutions(graph):
    return any(layer.get("kind") == "conv" for layer in graph.layers)


class Job:
    """What build() returned, and its steps."""

    def __init__(self, built, autocast=None):
        if not isinstance(built, (tuple, list)) or len(built) not in (4, 5):
            what = f"{len(built)} values" if isinstance(built, (tuple, list)) else type(built).__name__
            raise ProbeError(f"build() gave something else: {what}; allowed: (model, batch, loss, optimizer), or a fifth: loader(size)")
        for name, function in (("batch", built[1]), ("loss", built[2])):
            is_replaced = name == "batch" and function is None and len(built) == 5  # by the loader
            if not callable(function) and not is_replaced:
                raise ProbeError(f"{name}: {type(function).__name__} is no function; allowed: batch(size), which gives "
                                 "(inputs, targets), and loss(outputs, targets)")
        self.model, self.make_batch, self.loss, self.optimizer = built[:4]
        self.loader = built[4] if len(built) == 5 else None
        self.called = self.model  # or DDP around it
        self.device = next(self.model.parameters()).device
        self.autocast, self.batches = autocast, {}
        self.clock = Clock(self.device)

    def batch(self, size):
        if size not in self.batches:
            self.batches[size] = moved(tuple(self.make_batch(size)), self.device)
        return self.batches[size]

    def around(self):
        if self.autocast is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.autocast)

    def forward(self, inputs):
        if isinstance(inputs, dict):
            return self.called(**inputs)
        return self.called(*inputs) if isinstance(inputs, (list, tuple)) else self.called(inputs)

    def gradient(self, data):
        self.optimizer.zero_grad(set_to_none=True)
        inputs, targets = data
        with self.around():
            loss = self.loss(self.forward(inputs), targets)
        loss.backward()

    def timed(self, work):
        self.clock.wait()
        began = time.perf_counter()
        work()
        self.clock.wait()
        return time.perf_counter() - began

    def iteration_s(self, size):
        data = self.batch(size)
        return self.timed(lambda: (self.gradient(data), self.optimizer.step()))

    def gradient_s(self, size):
        data = self.batch(size)
        return self.timed(lambda: self.gradient(data))

    def update_s(self):
        return self.timed(self.optimizer.step)

    def layers(self, size, timer, layers):
        inputs, targets = self.batch(size)
        self.optimizer.zero_grad(set_to_none=True)
        self.clock.wait()
        called, self.called = self.called, unwrapped(self.model)
        try:
            return self._layers(inputs, targets, timer, layers)
        finally:
            self.called = called

    def _layers(self, inputs, targets, timer, layers):
        if self.clock.is_cuda and hasattr(torch.cuda, "_sleep"):
            torch.cuda._sleep(20_000_000)  # some 10 ms: the host gets ahead, so that launches do not show
        with timer:
            with self.around():
                out = self.forward(inputs)
                timer.end_model(out)
                loss = self.loss(out, targets)
            timer.end_forward(loss)
            began = self.clock.mark()
            loss.backward()
            self.clock.wait()
            return timer.times(layers, began)


def traced(job, name, size):
    model = unwrapped(job.model)
    inputs, targets = job.batch(size)
    job.called, called = model, job.called
    trace = Trace(model)
    try:
        with trace, job.around():
            out = job.forward(inputs)
            trace.between("loss")
            job.loss(out, targets)
    finally:
        trace.remove_hooks()
        job.called = called
    graph = Graph(name, model, trace, inputs, size)
    trace.kept.clear()
    return trace, graph


# ---- gradient noise scale --------------------------------------------------------------------------------------------

NOISE_GROUPS = 16  # of micro-batches; their scatter gives the interval


def student_t_quantile(probability, degrees):
    """Cornish-Fisher expansion to third order; 2 % off at 3 degrees of freedom."""
    z, n = statistics.NormalDist().inv_cdf(probability), degrees
    return (z + (z ** 3 + z) / (4 * n) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * n ** 2)
            + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * n ** 3))


def noise_scale(groups, micro_batch, micro_batches):
    """The gradient noise scale in samples from pairs (mean |g|^2 of the micro-batches, |mean g|^2) of each group.

    McCandlish et al. 2018, appendix A.1, for batches b and B = k b: G2 = (B large - b small) / (B - b) estimates |G|^2,
    S = (small - large) / (1/b - 1/B) the trace of the covariance. The scale is mean S / mean G2; its 80 % interval is
    Fieller's. `high` is None where G2 is not told from 0."""
    b, big = micro_batch, micro_batch * micro_batches
    squares = [(big * large - b * small) / (big - b) for small, large in groups]
    traces = [(small - large) / (1 / b - 1 / big) for small, large in groups]
    n, g, s = len(groups), statistics.fmean(squares), statistics.fmean(traces)
    result = {"micro_batch": b, "micro_batches": micro_batches, "groups": n, "gradient_square": g, "covariance_trace": s,
              "critical_batch": max(0.0, s / g) if g > 0 else None, "low": 0.0, "high": None}
    if n < 2:
        return result
    t2 = student_t_quantile(0.9, n - 1) ** 2 / (n * (n - 1))
    a = g * g - t2 * sum((x - g) ** 2 for x in squares)
    p = s * g - t2 * sum((x - g) * (y - s) for x, y in zip(squares, traces))
    root = math.sqrt(max(0.0, p * p - a * (s * s - t2 * sum((y - s) ** 2 for y in traces))))
    if a > 0 and g > 0:
        result.update(low=max(0.0, (p - root) / a), high=max(0.0, (p + root) / a))
    elif a < 0 < root and (g <= 0 or s / g >= (p - root) / a):
        result["low"] = max(0.0, (p - root) / a)
    return result


def tokens_per_sample(inputs):
    """Of sequences of token numbers (samples x positions, whole numbers); None for anything else."""
    first = next(tensors_in(inputs), None)
    is_tokens = first is not None and first.dim() == 2 and first.dtype in (torch.int32, torch.int64)
    return first.shape[1] if is_tokens else None


def measure_noise_scale(job, micro_batches, size):
    """Gradients of fresh micro-batches at the weights as they are; buffers, such as batch norm's, are put back."""
    model = unwrapped(job.model)
    weights = [p for p in model.parameters() if p.requires_grad]
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    groups, tokens, loader = [], None, None

    def drawn():
        nonlocal loader
        if job.loader is None:
            return tuple(job.make_batch(size))
        data = next(loader, None) if loader is not None else None
        if data is None:
            loader = iter(job.loader(size))
            data = next(loader)
        return data

    def square(tensors):
        return sum(float(t.detach().double().pow(2).sum()) for t in tensors)

    job.called, called = model, job.called
    try:
        for _ in range(NOISE_GROUPS):
            small, mean = 0.0, [torch.zeros_like(w, dtype=torch.float32) for w in weights]
            for _ in range(micro_batches):
                data = moved(drawn(), job.device)
                tokens = tokens_per_sample(data[0])
                job.gradient(data)
                gradients = [w.grad for w in weights if w.grad is not None]
                small += square(gradients) / micro_batches
                for total, w in zip(mean, weights):
                    if w.grad is not None:
                        total += w.grad.float() / micro_batches
            groups.append((small, square(mean)))
    finally:
        job.called = called
        job.optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)
    if not all(math.isfinite(x) for group in groups for x in group):
        raise ProbeError("--noise-scale: a gradient is not finite; allowed: weights with finite gradients, --autocast bf16 or none")
    result = noise_scale(groups, size, micro_batches)
    if result["covariance_trace"] <= 1e-9 * result["gradient_square"]:
        raise ProbeError("--noise-scale: all micro-batches have the same gradient; allowed: a batch(size) that draws other "
                         "samples at each call, or a loader(size)")
    if tokens is not None:
        result["tokens_per_sample"] = tokens
    return result


def noise_text(noise):
    """One line for a person."""
    factor, unit = noise.get("tokens_per_sample", 1), "tokens" if "tokens_per_sample" in noise else "samples"
    number = lambda x: f"{float(f'{x * factor:.2g}'):,.0f}"
    if noise["critical_batch"] is None or noise["high"] is None:
        return (f"gradient noise scale: above {number(noise['low'])} {unit}, no upper bound; more or larger micro-batches "
                "determine it better")
    return (f"gradient noise scale: {number(noise['critical_batch'])} {unit} (80 % interval {number(noise['low'])} to "
            f"{number(noise['high'])}) at these weights, an estimate of the critical batch")


# ---- sampling --------------------------------------------------------------------------------------------------------


def half_width(seconds):
    """Relative half width of the median's 95 % interval from order statistics; the whole range below 6 samples."""
    x, n = sorted(seconds), len(seconds)
    k, below = 0, 0.0
    while 2 * (below + math.comb(n, k) * 0.5 ** n) <= 0.05:
        below += math.comb(n, k) * 0.5 ** n
        k += 1
    k = max(k, 1)
    middle = statistics.median(x)
    return (x[n - k] - x[k - 1]) / (2 * middle) if middle > 0 else math.inf


def drifts(seconds):
    """A trend that is significant (Mann-Kendall, p < 0.01) and above 2 %."""
    n, third = len(seconds), len(seconds) // 3
    if n < 8:
        return False
    s = sum((b > a) - (b < a) for i, a in enumerate(seconds) for b in seconds[i + 1:])
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    change = statistics.median(seconds[-third:]) / statistics.median(seconds[:third]) - 1
    return max(0, abs(s) - 1) / deviation > 2.5758 and abs(change) > 0.02


def outliers(seconds):
    """More than 1 in 20 beyond 5 scaled median absolute deviations and 2 %, as calib/summary.cpp has it."""
    middle = statistics.median(seconds)
    away = [abs(s - middle) for s in seconds]
    limit = max(5 * 1.4826 * statistics.median(away), 0.02 * middle)
    return sum(d > limit for d in away) * 20 > len(seconds)


UNKNOWN = 0.05  # half width of a median's interval from which on a series is measured again, and said to be imprecise


def why_bad(seconds):
    """What makes a series one not to rely on; empty for a sound one."""
    reasons = []
    if drifts(seconds):
        reasons.append("drifts")
    if outliers(seconds):
        reasons.append("has outliers")
    if half_width(seconds) > UNKNOWN:
        reasons.append(f"is known to {100 * half_width(seconds):.0f} % only")
    return " and ".join(reasons)


class Series:
    """Timings of one thing: run() does it once and gives its seconds; of several processes the slowest counts."""

    def __init__(self, probe, key, run, repeats_short=False):
        self.probe, self.key, self.run, self.repeats_short = probe, key, run, repeats_short
        self.repeats, self.seconds, self.number, self.warm_s = 1, [], None, 0.0

    def once(self):
        return self.run(self.repeats) / self.repeats if self.repeats_short else self.run()


def duration(seconds):
    """"45 s", "12 min", "3.5 h"."""
    if seconds < 120:
        return f"{math.ceil(seconds)} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class TimeLeft:
    """The time that series will take. A series ends after its seconds, but not before its least samples; how long those
    take, its warm-up shows. What the parts so far took beyond or below that scales the rest: a busy machine, or series
    that are known early."""

    def __init__(self, options):
        self.options, self.expected_s, self.taken_s = options, 0.0, 0.0

    def of_series(self, one):
        least_s = min(self.options.least * one.warm_s, max(4 * self.options.seconds, 3 * one.warm_s))
        return max(self.options.seconds, least_s)

    def took(self, series, seconds):
        self.expected_s += sum(self.of_series(s) for s in series)
        self.taken_s += seconds

    def pace(self):
        return self.taken_s / self.expected_s if self.expected_s > 0 else 1.0

    def seconds(self, series, spent, later):
        """`spent`: seconds by series, 0 for one that has not begun; `later`: number of series of later parts."""
        return self.pace() * (sum(max(0.0, self.of_series(s) - spent.get(id(s), 0.0)) for s in series)
                              + later * self.options.seconds)


PROGRESS_S = 30  # between lines of progress without a terminal


class Sampler:
    """Series in turn, one sample of each a round, so that a machine that others disturb does not decide between them."""

    def __init__(self, log, processes, options, planned):
        self.log, self.processes, self.options = log, processes, options
        self.planned = planned  # series that are still to be measured, of this part and of later ones
        self.is_drawn, self.next_drawn = sys.stderr.isatty(), time.perf_counter() + PROGRESS_S
        self.time_left = TimeLeft(options)

    def measure(self, what, series):
        later = max(0, self.planned - len(series))
        self.planned = later
        is_open = [float(series_id(s.probe, s.key) not in self.log.finished) for s in series]
        series = [s for s, open_ in zip(series, self.processes.of_first(is_open)) if open_ > 0]
        if not series:
            return
        began = time.perf_counter()
        self._warm_up(series)
        if self.processes.rank == 0:
            left_s = self.time_left.seconds(series, {}, later)
            print(f"lockstep_probe: {what}: {len(series)} series, each {self.options.seconds:g} s or {self.options.least} samples"
                  f"{f', {later} later' if later else ''}; about {duration(left_s)} left, {duration(2 * left_s)} if others disturb",
                  file=sys.stderr)
        self._rounds(series, later, again=False)
        again = self._bad(series)
        if again:
            if self.processes.rank == 0:
                print(f"lockstep_probe: {what}: {len(again)} disturbed series once more, in turn", file=sys.stderr)
            self._rounds(again, later, again=True)
            still = self._bad(again)
            if still:
                worst = max(still, key=lambda s: half_width(s.seconds))
                self.log.say(f"{what}: {len(still)} of {len(series)} series are unsound after a second look, so that "
                             f"predictions with them have wide bounds; the worst, {worst.probe} {json.dumps(worst.key)}, "
                             f"{why_bad(worst.seconds)}")
        for s in series:
            self.log.write({"done": s.number})
        self.time_left.took(series, time.perf_counter() - began)

    def _bad(self, series):
        bad = self.processes.of_first([float(why_bad(s.seconds) != "") for s in series])
        return [s for s, is_bad in zip(series, bad) if is_bad > 0]

    def _warm_up(self, series):
        for s in series:
            began, runs, goes_on = time.perf_counter(), 0, 1.0
            while goes_on > 0:  # the first process's clock decides
                self.processes.meet()
                took = self.processes.slowest([s.once()])[0]
                runs += 1
                is_warm = runs >= 2 and (runs >= 20 or time.perf_counter() - began >= 0.05)
                goes_on = self.processes.of_first([float(not is_warm)])[0]
            s.warm_s = took
            if s.repeats_short:
                s.repeats = int(self.processes.of_first([float(min(256, max(1, math.ceil(5e-4 / max(took, 1e-7)))))])[0])

    def _draw(self, left, spent, later):
        is_due = time.perf_counter() >= self.next_drawn or (self.is_drawn and not left)
        if self.processes.rank != 0 or not is_due:
            return
        self.next_drawn = time.perf_counter() + (0.2 if self.is_drawn else PROGRESS_S)
        left_s = self.time_left.seconds(left, spent, later)
        text = f"{len(left)} series not known yet, about {duration(left_s)} left" if left else ""
        if self.is_drawn:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        elif text:
            print(f"lockstep_probe: {text}", file=sys.stderr, flush=True)

    def _rounds(self, series, later, again):
        spent = {id(s): 0.0 for s in series}
        for s in series:
            s.number, s.seconds = self.log.begin(s.probe, s.key, again), []
        gc.collect()
        left = list(series)
        while left:
            times, walls = [], []
            for s in left:
                self.processes.meet()
                began = time.perf_counter()
                times.append(s.once())
                walls.append(time.perf_counter() - began)
            times = self.processes.slowest(times)
            for s, seconds, wall in zip(left, times, walls):
                s.seconds.append(seconds)
                spent[id(s)] += wall
                self.log.write({"at": s.number, "seconds": round(seconds, 9)})
            goes_on = self.processes.of_first([float(self._goes_on(s, spent[id(s)])) for s in left])
            left = [s for s, more in zip(left, goes_on) if more > 0]
            self._draw(left, spent, later)

    def _goes_on(self, s, spent):
        n = len(s.seconds)
        if n < self.options.least:
            return spent < 4 * self.options.seconds or n < 3
        return n < 300 and spent < self.options.seconds and half_width(s.seconds) > self.options.tolerance


# ---- what is measured ------------------------------------------------------------------------------------------------


class Beside:
    """All-reduces that go on beside compute, one after another, until every process has done its part."""

    def __init__(self, group, size, device, ranks):
        self.group, self.ranks, self.buffer = group, ranks, torch.zeros(max(1, size // 4), device=device)

    def run(self, work):
        self.is_done = False
        thread = threading.Thread(target=self._sum)
        thread.start()
        try:
            return work()
        finally:
            self.is_done = True
            thread.join()

    def _sum(self):
        while True:
            self.buffer[0] = 1.0 if self.is_done else 0.0
            dist.all_reduce(self.buffer, group=self.group)
            if float(self.buffer[0]) >= self.ranks:
                return


def in_two(run, alone):
    """A series of the first process alone: the others wait."""
    return run if alone else (lambda: 0.0)


def series_of_steps(jobs, graph, processes, options):
    job, several = jobs["alone"], processes.count > 1
    key = {"model": graph["name"], "precision": graph["precision"]}
    series = []

    def add(probe, more, run):
        series.append(Series(probe, {**key, **more}, run))

    for size in options.batches:
        for busy in sorted({1, processes.count}):
            run = lambda size=size: job.iteration_s(size)
            add("iteration", {"learners": 1, "devices": busy, "batch": size},
                in_two(run, busy > 1 or processes.rank == 0))
        add("gradient", {"devices": processes.count, "batch": size}, lambda size=size: job.gradient_s(size))
        for how in ("ddp", "fsdp"):
            if how in jobs:
                add("step", {"how": how, "ranks": processes.count, "nodes": processes.nodes, "batch": size},
                    lambda size=size, how=how: jobs[how].iteration_s(size))
        if "copies" in jobs:
            for busy in (1, processes.count):
                add("step", {"how": "ddp", "ranks": 1, "nodes": 1, "devices": busy, "batch": size},
                    in_two(lambda size=size: jobs["copies"].iteration_s(size), busy > 1 or processes.rank == 0))
        if job.loader is not None:
            loaded = {"learners": 1, "devices": processes.count, "input": "loader", "batch": size}
            add("iteration", loaded, lambda size=size, feed=Feed(job, size): feed.iteration_s(size))
            series.append(Series("input", {"source": "loader", "model": graph["name"], "learners": 1,
                                           "devices": processes.count, "batch": size}, Feed(job, size).alone_s))
    if several:
        group = dist.new_group()
        for size in sorted({min(options.batches), max(options.batches)}):
            for bytes_ in overlap_sizes(graph["parameters"] * 4):
                shared = {"devices": processes.count, "batch": size, "library": processes.library, "bytes": bytes_}
                beside = Beside(group, bytes_, job.device, processes.count)
                add("overlap", {**shared, "beside": "nothing"}, lambda size=size: job.gradient_s(size))
                add("overlap", {**shared, "beside": "all-reduce"},
                    lambda size=size, beside=beside: beside.run(lambda: job.gradient_s(size)))
    return series


def measure_update(job, graph, sampler, options):
    job.gradient(job.batch(min(options.batches)))
    sampler.measure("update", [Series("update", {"kernel": optimizer_name(job.optimizer), "elements": graph["parameters"]},
                                      job.update_s)])


class Feed:
    """A loader's batches, one after another, from its beginning again where it ends."""

    def __init__(self, job, size):
        self.job, self.size, self.batches = job, size, None

    def next(self):
        for _ in range(2):
            if self.batches is None:
                self.batches = iter(self.job.loader(self.size))
            try:
                return next(self.batches)
            except StopIteration:
                self.batches = None
        raise ProbeError("loader(size) gives no batch")

    def alone_s(self):
        began = time.perf_counter()
        self.next()
        return time.perf_counter() - began

    def iteration_s(self, size):
        def work():
            self.job.gradient(moved(tuple(self.next()), self.job.device))
            self.job.optimizer.step()
        return self.job.timed(work)


def overlap_sizes(gradient_bytes):
    """Of DDP's first bucket and of its others, as far as there are so many bytes."""
    most = min(25 * MIB, max(4 * KIB, gradient_bytes))
    return [MIB, most] if most >= 2 * MIB else [most]


def measure_layers(job, trace, graph, log, processes, options):
    timer = LayerTimer(unwrapped(job.model), trace, job.clock)
    key = {"model": graph["name"], "precision": graph["precision"]}
    open_sizes = [s for s in options.batches if series_id("pass", {**key, "batch": s}) not in log.finished]
    open_sizes = [s for s, is_open in zip(options.batches, processes.of_first(
        [float(s in open_sizes) for s in options.batches])) if is_open > 0]
    numbers = {size: log.begin("pass", {**key, "batch": size}) for size in open_sizes}
    for turn in range(2 + options.passes):
        for size in list(numbers):
            processes.meet()
            times = job.layers(size, timer, len(graph["layers"]))
            if times is None:
                log.say("the network takes another way than in the pass before: no times by layer")
                return
            if turn >= 2:
                log.write_pass(numbers[size], times)
    for number in numbers.values():
        log.write({"done": number})


COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")


class Collective:
    """One operation over the first `ranks` processes; bytes as nccl-tests counts them."""

    def __init__(self, operation, group, ranks, size, dtype, device):
        share = max(1, size // dtype.itemsize // ranks) if hasattr(dtype, "itemsize") else max(1, size // 4 // ranks)
        self.is_cuda = device.type == "cuda"
        self.whole = torch.zeros(share * ranks, dtype=dtype, device=device)
        part, other = torch.zeros(share, dtype=dtype, device=device), torch.zeros_like(self.whole)
        parts = list(other.chunk(ranks))
        self.call = {
            "all-reduce": lambda: dist.all_reduce(self.whole, group=group),
            "reduce-scatter": lambda: dist.reduce_scatter(part, list(self.whole.chunk(ranks)), group=group),
            "all-gather": lambda: dist.all_gather(parts, part, group=group),
            "all-to-all": lambda: dist.all_to_all_single(other, self.whole, group=group),
        }[operation]
        self.bytes = self.whole.numel() * self.whole.element_size()

    def run(self, repeats):
        if self.is_cuda:
            torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(repeats):
            self.call()
        if self.is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - began


def collective_sizes(graph, options):
    most = min(options.most_bytes, max(64 * KIB, 2 * graph["parameters"] * 4))
    sizes = [4 * KIB]
    while sizes[-1] < most:
        sizes.append(sizes[-1] * 4)
    return sizes


def collective_ranks(processes):
    if processes.count == 1:
        return []
    return sorted({n for n in [2 ** i for i in range(1, 16)] if n < processes.count} | {processes.count})


def measure_collectives(job, graph, sampler, processes, options):
    sizes = collective_sizes(graph, options)
    dtype = next(job.model.parameters()).dtype
    for ranks in collective_ranks(processes):
        group = dist.new_group(list(range(ranks)))
        is_in = processes.rank < ranks
        for operation in COLLECTIVES:
            if not _works(operation, group, ranks, dtype, job.device, is_in, processes):
                sampler.planned = max(0, sampler.planned - len(sizes))
                sampler.log.say(f"{operation} over {ranks} processes: {processes.library} does not have it")
                continue
            series = []
            for size in sizes:
                one = Collective(operation, group, ranks, size, dtype, job.device)
                key = {"operation": operation, "library": processes.library, "ranks": ranks,
                       "nodes": max(1, math.ceil(ranks / processes.local_count)), "bytes": one.bytes}
                series.append(Series("collective", key, one.run if is_in else lambda repeats: 0.0, repeats_short=True))
            sampler.measure(f"{operation} over {ranks}", series)


def _works(operation, group, ranks, dtype, device, is_in, processes):
    failed = 0.0
    if is_in:
        try:
            Collective(operation, group, ranks, 4 * KIB, dtype, device).run(1)
        except (RuntimeError, NotImplementedError, ValueError):
            failed = 1.0
    return processes.slowest([failed])[0] == 0


def copy_sizes(job, options):
    sizes = []
    while job.device.type == "cuda" and 64 * KIB * 8 ** len(sizes) <= options.most_bytes:
        sizes.append(64 * KIB * 8 ** len(sizes))
    return sizes


def measure_copies(job, sampler, options):
    series = []
    for size in copy_sizes(job, options):
        on_device = torch.empty(size, dtype=torch.uint8, device=job.device)
        for pinned in (False, True):
            on_host = torch.empty(size, dtype=torch.uint8, pin_memory=pinned)
            for source, to in ((on_host, on_device), (on_device, on_host)):
                key = {"from": "host" if source is on_host else "gpu0", "to": "gpu0" if source is on_host else "host",
                       "both_ways": False, "bytes": size}
                if pinned:
                    key["memory"] = "pinned"
                run = lambda repeats, a=source, b=to: job.timed(lambda: [b.copy_(a, non_blocking=True) for _ in range(repeats)])
                series.append(Series("copy", key, run, repeats_short=True))
    sampler.measure("copies", series)


# ---- a run -----------------------------------------------------------------------------------------------------------


def processor_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "processor"


def clocks():
    """What nvidia-smi says of the GPUs' clocks; None without it."""
    fields = "index,clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu"
    try:
        text = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return {"fields": fields, "gpus": [line.strip() for line in text.splitlines()]}


def memory_bytes(device, processes):
    """A GPU's, or a process's share of the machine's."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // processes.local_count


def load():
    """Processes that wanted a core in the last minute, on average."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def is_cuda(job):
    return job.device.type == "cuda"


def run_facts(job, processes, options, names):
    on_cuda = is_cuda(job)
    # As the engine names a device of the host: what two files share must have one name.
    device = torch.cuda.get_device_name(job.device) if on_cuda else f"{processor_name()}, torch {torch.__version__}"
    facts = {"torch": torch.__version__, "python": platform.python_version(), "system": platform.platform(),
             "device": device, "kind": "cuda" if on_cuda else "host", "processes": processes.count,
             "nodes": processes.nodes, "library": processes.library, "threads": torch.get_num_threads(),
             "pinned": bool(options.pin), "seed": options.seed, "batches": options.batches, "started": time.time(),
             "optimizer": optimizer_name(job.optimizer), "memory_bytes": memory_bytes(job.device, processes),
             "tolerance": options.tolerance, "host": platform.node(), "load": round(load(), 2), **names}
    if on_cuda:
        facts.update(cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version(),
                     cudnn_benchmark=torch.backends.cudnn.benchmark, clocks=clocks())
    return facts


# What a run may not change in a file that it goes on with.
SAME = ("torch", "device", "processes", "nodes", "threads", "pinned", "library", "model")


def check_same(before, now, path):
    for name in SAME:
        if before.get(name) != now.get(name):
            raise ProbeError(f"{path}: was measured with {name} {before.get(name)!r}, this is {now.get(name)!r}; "
                             "allowed: as before, or another -o")


def cores_of(rank, count, cores, sysfs="/sys/devices/system/cpu"):
    """Those of one of `count` processes: hardware threads of one core stay together while there are cores for all, for two
    processes on one core would slow each other, a whole series through."""
    groups = {}
    for core in cores:
        try:
            with open(f"{sysfs}/cpu{core}/topology/thread_siblings_list", encoding="utf-8") as file:
                siblings = file.read().strip()
        except OSError:
            siblings = str(core)
        groups.setdefault(siblings, []).append(core)
    shares = list(groups.values()) if len(groups) >= count else [[core] for core in cores]
    mine = [core for share in shares[rank % len(shares)::count] for core in share]
    return sorted(mine)


def pin(processes, threads):
    cores = sorted(os.sched_getaffinity(0))
    mine = cores_of(processes.local_rank, processes.local_count, cores)
    os.sched_setaffinity(0, mine)
    torch.set_num_threads(threads or len(mine))
    return len(cores) >= processes.local_count


def load_build(where):
    path, _, function = where.partition(":")
    if not os.path.isfile(path):
        raise ProbeError(f"{where}: no such file; allowed: FILE.py:FUNCTION")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    build = getattr(module, function or "build", None)
    if not callable(build):
        known = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise ProbeError(f"{where}: has no function {function or 'build'}; allowed: {', '.join(known) or 'none'}")
    return build


def usual_name(where):
    path, _, function = where.partition(":")
    stem = os.path.splitext(os.path.basename(path))[0]
    return stem if function in ("", "build") else f"{stem}_{function}"


def around_ddp(build, processes, options, say):
    """The job again as PyTorch trains it over all processes."""
    jobs = {}
    if processes.count == 1:
        return jobs
    torch.manual_seed(options.seed)
    job = Job(build(), options.autocast)
    ids = [job.device.index] if job.device.type == "cuda" else None
    job.called = job.model if isinstance(job.model, nn.parallel.DistributedDataParallel) else (
        nn.parallel.DistributedDataParallel(job.model, device_ids=ids))
    jobs["ddp"] = job
    if not is_cuda(job) and job.called is not job.model:
        jobs["copies"] = around_own_ddp(build, processes, options)
    if options.fsdp:
        try:
            jobs["fsdp"] = fully_sharded(build, options)
        except (RuntimeError, ImportError, ValueError, TypeError) as error:
            say(f"fsdp: {error}")
    return jobs


def around_own_ddp(build, processes, options):
    """The job in a DDP of this process alone, which sums nothing: what it takes longer are copies of gradients into
    buckets and back. On a processor they count; a GPU copies 100 MB in a tenth of a millisecond."""
    groups = [dist.new_group([rank]) for rank in range(processes.count)]  # every process makes all of them
    torch.manual_seed(options.seed)
    job = Job(build(), options.autocast)
    job.called = nn.parallel.DistributedDataParallel(job.model, process_group=groups[processes.rank])
    return job


def fully_sharded(build, options):
    from functools import partial
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
    torch.manual_seed(options.seed)
    job = Job(build(), options.autocast)
    policy = partial(size_based_auto_wrap_policy, min_num_params=25_000_000)  # units of 100 MB
    job.called = job.model = FullyShardedDataParallel(job.model, auto_wrap_policy=policy, use_orig_params=True)
    kept = {k: v for k, v in job.optimizer.defaults.items()}
    job.optimizer = type(job.optimizer)(job.model.parameters(), **kept)
    return job


def described(graph):
    known = sum(1 for layer in graph.layers if layer["kind"] != "opaque")
    return {"graph": graph.json(), "precision": graph.precision, "exact_layers": known,
            "parameters": sum(p.numel() for p in set(graph.parameters.values()) if p.requires_grad)}


def beside(*names):
    """A path of the checkout or, where this file is installed, of the prefix."""
    return os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", *names))


def command_of(name):
    """How a user runs a program from here: that of the checkout that holds this file, else the installed command."""
    built, installed = beside("build", name), beside("bin", "lockstep")
    if os.path.exists(built):
        relative = os.path.relpath(built)
        return shlex.quote(built if relative.startswith(os.pardir) else relative)
    if not shutil.which("lockstep") and os.path.exists(installed):
        return f"{shlex.quote(installed)} {name}"
    return f"lockstep {name}"


def model_file(output):
    return os.path.splitext(output)[0] + ".model.json"


def write_model(output, graph):
    """Writes the network beside the probe's file, whole or not at all, for `simulate job --model`."""
    path = model_file(output)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(graph, file, separators=(",", ":"))
        file.write("\n")
    os.replace(path + ".part", path)


def job_command(graph, output, batch, optimizer):
    """The command that predicts this training on GPUs that are not here."""
    known = f" --optimizer {optimizer}" if optimizer in KNOWN_OPTIMIZERS else ""
    return (f"{command_of('simulate')} job --model {shlex.quote(model_file(output))} --gpu NAME --gpus N --batch {batch} "
            f"--precision {graph.precision}{known}")


def probe(where, options):
    processes = Processes()
    if options.pin and not pin(processes, options.threads) and processes.rank == 0:
        print("lockstep_probe: more processes than cores: they share them", file=sys.stderr)
    elif not options.pin and options.threads:
        torch.set_num_threads(options.threads)
    log = Log(options.output if processes.rank == 0 and not options.network_only else None, options.resume)
    if torch.cuda.is_available():
        torch.cuda.set_device(processes.local_rank % torch.cuda.device_count())
    build = load_build(where)
    torch.manual_seed(options.seed)
    job = Job(build(), options.autocast)
    job.model.train()
    trace, graph = traced(job, options.name or usual_name(where), min(options.batches))
    facts = run_facts(job, processes, options, {"model": graph.name})
    network = described(graph)
    if log.last_run is not None:
        check_same(log.last_run, facts, options.output)
        if log.graph != network["graph"]:
            raise ProbeError(f"{options.output}: is of another network; allowed: the same, or another -o")
    log.write({"schema": SCHEMA, "run": facts})
    if log.graph is None:
        log.write(network)
    if processes.rank == 0:
        write_model(options.output, network["graph"])
    next_command = job_command(graph, options.output, max(options.batches), facts["optimizer"])
    if options.network_only:
        if processes.rank == 0:
            print(f"{model_file(options.output)}: {graph.name}, {graph.precision}, {len(graph.layers)} layers\nnext: {next_command}")
            if graph.precision == "fp32" and torch.backends.cudnn.allow_tf32 and has_convolutions(graph):
                print("note: on GPUs with TF32, PyTorch computes convolutions in it unless torch.backends.cudnn.allow_tf32 is "
                      "False: --precision tf32")
        return processes.meet()
    if not is_cuda(job) and facts["load"] > 0.5 * os.cpu_count():
        log.say(f"the machine is busy: a load of {facts['load']} on {os.cpu_count()} cores; times will scatter")
    if graph.unused:
        log.say(f"parameters that no layer reads, left out: {', '.join(graph.unused[:5])}")
    if options.noise_scale and not log.has_noise_scale and processes.rank == 0:
        noise = measure_noise_scale(job, options.noise_scale, min(options.batches))
        log.write({"noise_scale": noise})
        print(f"lockstep_probe: {noise_text(noise)}", file=sys.stderr)
    told = {"name": graph.name, "precision": graph.precision, "layers": graph.layers,
            "parameters": network["parameters"]}
    steps = series_of_steps({"alone": job, **around_ddp(build, processes, options, log.say)}, told, processes, options)
    collectives = len(COLLECTIVES) * len(collective_ranks(processes)) * len(collective_sizes(told, options))
    copies = 4 * len(copy_sizes(job, options))
    sampler = Sampler(log, processes, options, len(steps) + 1 + collectives + copies)
    sampler.measure("steps", steps)
    measure_update(job, told, sampler, options)
    measure_layers(job, trace, told, log, processes, options)
    measure_collectives(job, told, sampler, processes, options)
    measure_copies(job, sampler, options)
    if job.device.type == "cuda":
        log.write({"peak_memory_bytes": torch.cuda.max_memory_allocated()})
    else:
        import resource
        log.write({"peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB})
    if processes.rank == 0:
        opaque = [layer["name"] for layer in graph.layers if layer["kind"] == "opaque"]
        print(f"{options.output}: {graph.name}, {graph.precision}, {len(graph.layers)} layers"
              + (f" ({len(opaque)} opaque)" if opaque else "") + f", {told['parameters']:,} parameters, "
              f"{processes.count} process{'es' if processes.count > 1 else ''}\n"
              f"on GPUs that you do not have: {next_command}\n"
              f"these times as a profile: {command_of('calibrate')} import torch-probe {shlex.quote(options.output)} -o profile.json")
    processes.meet()


# ---- a prediction beside its measurement -----------------------------------------------------------------------------


def program(name, folder):
    for place in [folder] if folder else [beside("build"), beside("libexec", "lockstep")]:
        if os.path.exists(os.path.join(place, name)):
            return os.path.join(place, name)
    found = None if folder else shutil.which(name)
    if found is None:
        raise ProbeError(f"--check: {name} is not there; allowed: --programs FOLDER with calibrate and simulate")
    return found


def ran(*words):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if result.returncode != 0:
        raise ProbeError(result.stderr.strip() or f"{words[0]} failed")


def predicted(options, size, processes, folder):
    """Seconds of a step, and the least and most by the bounds."""
    scenario, result = os.path.join(folder, "scenario.json"), os.path.join(folder, "result.json")
    ran(program("calibrate", options.programs), "scenario", options.check, "--batch", size, "-o", scenario)
    ran(program("simulate", options.programs), scenario, "--gpus", processes, "--quiet", "--json", result)
    with open(result, encoding="utf-8") as file:
        point = json.load(file)["points"][0]
    rates = [point[name] for name in ("samples_per_s", "samples_per_s_high", "samples_per_s_low")]
    return [point["global_batch"] / rate for rate in rates], scenario


def record(scenario, options, size, processes, median_s, to):
    """The scenario with what was measured as its published result: `simulate` prints the two beside each other."""
    with open(scenario, encoding="utf-8") as file:
        described = json.load(file)
    for value in (described, described["compute"], described["communication"].get("nccl", {})):
        for name in ("model", "profile"):  # as seen from the scenario
            if str(value.get(name)).endswith(".json"):
                where = os.path.join(os.path.dirname(scenario), value[name])
                value[name] = os.path.relpath(os.path.realpath(where), os.path.dirname(os.path.realpath(to)))
    described["gpus"] = sorted({1, processes})
    described["published"] = [{"gpus": processes, "metric": "samples_per_s", "value": f"{processes * size / median_s:.6g} samples/s",
                               "source": f"measured by lockstep_probe.py --check, torch {torch.__version__}"}]
    with open(to, "w", encoding="utf-8") as file:
        file.write(json.dumps(described, indent=1) + "\n")


def check(where, options):
    """Measures steps of batches that the profile need not have, and prints what it predicts beside them."""
    processes = Processes()
    if options.pin:
        pin(processes, options.threads)
    elif options.threads:
        torch.set_num_threads(options.threads)
    if torch.cuda.is_available():
        torch.cuda.set_device(processes.local_rank % torch.cuda.device_count())
    if options.record and len(options.batches) > 1:
        raise ProbeError("--record: several batches; allowed: --batches with one")
    build = load_build(where)
    torch.manual_seed(options.seed)
    alone = Job(build(), options.autocast)
    job = around_ddp(build, processes, options, lambda text: None).get("ddp", alone)
    job.model.train()
    series = [Series("step", {"batch": size}, lambda size=size: job.iteration_s(size)) for size in options.batches]
    Sampler(Log(None), processes, options, len(series)).measure("steps", series)
    if processes.rank == 0:
        print("batch  processes   predicted              bounds    measured        its interval     error")
        for s in series:
            size, median = s.key["batch"], statistics.median(s.seconds)
            with tempfile.TemporaryDirectory() as folder:
                (seconds, least, most), scenario = predicted(options, size, processes.count, folder)
                if options.record:
                    record(scenario, options, size, processes.count, median, options.record)
            half = half_width(s.seconds) * median
            print(f"{size:5}  {processes.count:9}  {1e3 * seconds:7.1f} ms  {1e3 * least:7.1f} to {1e3 * most:7.1f}  "
                  f"{1e3 * median:7.1f} ms  {1e3 * (median - half):7.1f} to {1e3 * (median + half):7.1f}  "
                  f"{100 * (seconds / median - 1):+6.1f} %")
    processes.meet()


# ---- around a loop of your own ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def measure(model, optimizer, output, name="model", resume=False, layer_steps=10, skip=3):
    """Times the training steps of the block: a step ends with optimizer.step(), a call of the model begins it (of
    several the first: gradients that accumulate). The first step is traced, `skip` more warm up, then `layer_steps` are
    timed by layers and all others whole. Nothing waits for the GPU before the block ends. Under DistributedDataParallel
    whole steps are its truth (probe "step"). Yields the number of steps so far, as an object with `.steps`."""
    recorder = _Loop(model, optimizer, name, layer_steps, skip)
    with recorder:
        yield recorder
    recorder.write(output, resume)


class _Loop:
    def __init__(self, model, optimizer, name, layer_steps, skip):
        self.model, self.optimizer, self.name = model, optimizer, name
        self.inner, self.layer_steps, self.skip = unwrapped(model), layer_steps, skip
        self.clock = Clock(next(model.parameters()).device)
        self.steps, self.batch, self.begun, self.whole, self.passes = 0, 0, None, [], []
        self.trace = self.graph = self.timer = None
        self.layered = []  # timers of the passes that were timed by layers, with the mark at which their backward began

    def __enter__(self):
        self.handles = [self.model.register_forward_pre_hook(self._before), self.model.register_forward_hook(self._after)]
        self.step = self.optimizer.step
        self.optimizer.step = self._step
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()
        self.optimizer.step = self.step
        if self.timer is not None:
            self.timer.__exit__()
        self.clock.wait()

    def _before(self, module, inputs):
        first = next(tensors_in(inputs), None)
        is_first = self.begun is None
        if is_first:
            self.begun, self.batch = self.clock.mark(), 0
        if is_first and self.skip < self.steps <= self.skip + self.layer_steps:
            self.timer = LayerTimer(self.inner, self.trace, self.clock)
            self.timer.__enter__()
            self.timer.began, self.timer.batch = [], 0
        self.batch += first.shape[0] if first is not None else 1
        if self.steps == 0 and self.trace is None:
            self.inputs, self.trace = inputs, Trace(self.inner)
            self.trace.__enter__()

    def _after(self, module, inputs, out):
        if self.trace is not None and self.graph is None:
            self.trace.__exit__(None, None, None)
            self.trace.remove_hooks()
            self.graph = Graph(self.name, self.inner, self.trace, self.inputs, self.batch)
            self.trace.kept.clear()
        timer = self.timer
        result = next((t for t in tensors_in(out) if t.requires_grad), None)
        if timer is not None and timer.is_forward and result is not None:
            timer.batch = self.batch
            timer.end_model(out)
            timer.claim_nodes()
            timer.handles.append(result.register_hook(lambda g: timer.began.append(self.clock.mark())))

    def _step(self, *args, **kwargs):
        result = self.step(*args, **kwargs)
        if self.timer is not None:
            self.timer.__exit__()
            if self.timer.began:
                self.layered.append(self.timer)
            self.timer = None
        elif self.begun is not None and self.steps > self.skip:
            self.whole.append((self.batch, self.begun, self.clock.mark()))
        self.begun, self.steps = None, self.steps + 1
        return result

    def write(self, output, resume):
        if self.graph is None or not self.whole:
            raise ProbeError(f"{output}: {self.steps} steps; allowed: at least "
                             f"{self.skip + self.layer_steps + 2}, each with optimizer.step()")
        processes = Processes() if dist.is_initialized() else None
        ranks, rank = (processes.count, processes.rank) if processes else (1, 0)
        options = argparse.Namespace(pin=False, seed=None, batches=sorted({b for b, _, _ in self.whole}), tolerance=0.01)
        job = argparse.Namespace(device=next(self.model.parameters()).device, optimizer=self.optimizer)
        log = Log(output if rank == 0 else None, resume)
        facts = run_facts(job, processes or Processes(), options, {"model": self.name})
        log.write({"schema": SCHEMA, "run": facts})
        if log.graph is None:
            log.write(described(self.graph))
        is_ddp = isinstance(self.model, nn.parallel.DistributedDataParallel)
        for size in options.batches:
            key = {"model": self.name, "precision": self.graph.precision}
            if is_ddp:
                number = log.begin("step", {**key, "how": "ddp", "ranks": ranks, "nodes": 1, "batch": size})
            else:
                number = log.begin("iteration", {**key, "learners": 1, "devices": 1, "batch": size})
            for batch, a, b in self.whole:
                if batch == size:
                    log.write({"at": number, "seconds": self.clock.between(a, b)})
            log.write({"done": number})
        self._write_layers(log)
        log.close()

    def _write_layers(self, log):
        for size in sorted({timer.batch for timer in self.layered}):
            number = log.begin("pass", {"model": self.name, "precision": self.graph.precision, "batch": size})
            for timer in self.layered:
                times = timer.times(len(self.graph.layers), timer.began[0]) if timer.batch == size else None
                if times is not None:
                    log.write_pass(number, times)
            log.write({"done": number})


# ---- command line ----------------------------------------------------------------------------------------------------


def parsed(words):
    parser = argparse.ArgumentParser(prog="lockstep_probe.py", description="Measures a PyTorch training job for Lockstep.",
                                     epilog="Example: python3 lockstep_probe.py my_model.py:build --batches 8,16,32 -o probe.jsonl")
    parser.add_argument("build", help="FILE.py:FUNCTION that returns (model, batch, loss, optimizer)")
    parser.add_argument("--batches", default="8,16,32", help="samples per process and step (8,16,32)")
    parser.add_argument("-o", "--output", default="probe.jsonl", help="file to write (probe.jsonl)")
    parser.add_argument("--name", help="the model's name in the profile (the file's)")
    parser.add_argument("--network-only", action="store_true",
                        help="writes the network for simulate job --model, and measures nothing")
    parser.add_argument("--resume", action="store_true", help="goes on with a file that a killed run left")
    parser.add_argument("--seconds", type=float, default=5, help="longest time of one series (5)")
    parser.add_argument("--tolerance", type=float, default=0.01, help="half width of the median's interval (0.01)")
    parser.add_argument("--least", type=int, default=11, help="samples of a series at least (11)")
    parser.add_argument("--passes", type=int, default=11, help="passes timed by layers, of each batch (11)")
    parser.add_argument("--most-bytes", type=int, default=64 * MIB, help="largest collective and copy (67108864)")
    parser.add_argument("--noise-scale", type=int, metavar="K",
                        help=f"measures the gradient noise scale by {NOISE_GROUPS} groups of K micro-batches of the smallest of "
                             "--batches, at the weights of build() (not measured)")
    parser.add_argument("--autocast", choices=["fp16", "bf16"], help="runs the forward pass under torch.autocast")
    parser.add_argument("--processes", type=int, default=1, help="starts so many on this machine, as torchrun does (1)")
    parser.add_argument("--threads", type=int, help="threads of a process (torch's own choice)")
    parser.add_argument("--pin", action="store_true", default=None,
                        help="binds each process to cores of its own (several processes on a machine without a GPU)")
    parser.add_argument("--no-pin", action="store_false", dest="pin", help="leaves processes where the system puts them")
    parser.add_argument("--fsdp", action="store_true", help="times FullyShardedDataParallel as well (CUDA)")
    parser.add_argument("--check", metavar="PROFILE", help="measures these batches and prints what PROFILE predicts beside them")
    parser.add_argument("--programs", metavar="FOLDER", help="of --check: where calibrate and simulate are")
    parser.add_argument("--record", metavar="FILE", help="of --check: writes a scenario with what was measured beside it")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and of random numbers (1)")
    options = parser.parse_args(words)
    try:
        batches = sorted({int(b) for b in options.batches.split(",")})
        if batches[0] < 1:
            raise ValueError
        options.batches = batches
    except ValueError:
        raise ProbeError(f"--batches {options.batches}: are no counts; allowed: 8,16,32") from None
    if options.noise_scale is not None and options.noise_scale < 2:
        raise ProbeError(f"--noise-scale {options.noise_scale}: compares micro-batches with their mean; allowed: 2 or more")
    several = options.processes > 1 or int(os.environ.get("WORLD_SIZE", 1)) > 1
    if options.pin is None:  # unpinned, two processes may share a core for a whole series
        options.pin = several and not torch.cuda.is_available() and hasattr(os, "sched_setaffinity")
    options.autocast = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(options.autocast)
    return options


def main(words):
    try:
        options = parsed(words)
        if options.processes > 1 and "RANK" not in os.environ:
            return start_processes(options.processes, words)
        (check if options.check else probe)(options.build, options)
        return 0
    except ProbeError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
