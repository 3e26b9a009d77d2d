"""Measured rates: from a profile that calibrate wrote, or from a module that is measured here."""
import importlib.util
import json
import pathlib
import statistics
import sys
import time

from . import _core
from ._job import Job


class Profile:
    """A profile of calibrate (schema lockstep/profile/1)."""

    def __init__(self, document):
        self._document = document

    @property
    def fits(self):
        """The fits to the measurements: [{"probe", "key", "variable", "pieces", ...}]."""
        return self._document["fits"]

    @property
    def samples(self):
        """The measurements: [{"probe", "key", "seconds"}]."""
        return self._document["samples"]

    def rate(self, batch, model=None):
        """Returns the measured samples/s of one device at `batch`, for the option `rate`. `model` selects one of several
        measured models. Raises LockstepError for a batch that was not measured."""
        measured, models = {}, set()
        for sample in self.samples:
            key = sample["key"]
            is_alone = key.get("devices", 1) == 1 and key.get("learners", 1) == 1 and "input" not in key
            if sample["probe"] == "iteration" and is_alone and model in (None, key.get("model")):
                models.add(key.get("model"))
                measured[key["batch"]] = key["batch"] / statistics.median(sample["seconds"])
        if len(models) > 1:
            raise _core.LockstepError(f"model: the profile has {', '.join(sorted(map(str, models)))}; allowed: one of them")
        if batch not in measured:
            raise _core.LockstepError(f"batch {batch}: not measured; allowed: "
                                      f"{', '.join(str(one) for one in sorted(measured)) or 'a profile with iterations'}")
        return measured[batch]


def load_profile(path):
    """Reads a profile that `calibrate` wrote."""
    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if document.get("schema") != "lockstep/profile/1":
        raise _core.LockstepError(f"{path}: schema {document.get('schema')!r}; allowed: lockstep/profile/1")
    return Profile(document)


class ModuleProbe:
    """A traced and measured torch.nn.Module."""

    def __init__(self, model, precision, seconds, gpu, optimizer=None):
        self.model = model            # lockstep/model/1
        self.precision = precision
        self.seconds = seconds        # per iteration, by batch
        self.gpu = gpu                # name of the measured GPU; None: measured on a CPU
        self.optimizer = optimizer    # as the option `optimizer`; None: one that Lockstep does not know, or not given

    def rate(self, batch):
        """Returns the samples/s of this device at a measured batch."""
        return batch / self.seconds[batch]

    def job(self, batch=None, **options):
        """Returns a Job with this model and its precision. If a GPU was measured at `batch`, the job has its rate; if `gpu` is
        another GPU, the rate is scaled. If Lockstep does not know the measured GPU, give `rate_gpu`, or rate=None."""
        batch = batch if batch is not None else max(self.seconds)
        options.setdefault("precision", self.precision)
        if self.optimizer is not None:
            options.setdefault("optimizer", self.optimizer)
        if self.gpu and batch in self.seconds:
            options.setdefault("rate", self.rate(batch))
            if options["rate"] is not None:
                options.setdefault("rate_gpu", self.gpu)
        return Job(model=self.model, batch=batch, **options)


def print_progress(done, total, seconds_left):
    """Prints "fit_probe: iteration 3 of 7, about 12 s left" to standard error, if more than 2 s are left."""
    if seconds_left > 2:
        print(f"fit_probe: iteration {done} of {total}, about {seconds_left:.0f} s left", file=sys.stderr)


def fit_probe(module, batch, loss, optimizer=None, batches=(8,), repeats=5, progress=print_progress):
    """Traces a torch.nn.Module and measures its iterations on its device.

    batch(size) returns (inputs, targets); loss(outputs, targets) returns the loss. The default optimizer is SGD with a
    learning rate of zero, which keeps the weights. `progress(done, total, seconds_left)` is called after each iteration; the
    default prints a line to standard error if more than 2 s are left, and None is silent. The returned probe makes jobs: fit_probe(...).job(gpu="H100", gpus=64)."""
    probe = _probe_module()
    is_given = optimizer is not None
    if optimizer is None:
        import torch
        optimizer = torch.optim.SGD(module.parameters(), lr=0.0)
    run = probe.Job((module, batch, loss, optimizer))
    began, done, total = time.perf_counter(), 0, len(batches) * (2 + repeats)

    def iteration_s(size):
        nonlocal done
        seconds = run.iteration_s(size)
        done += 1
        if progress is not None:
            progress(done, total, (time.perf_counter() - began) / done * (total - done))
        return seconds

    graph = probe.traced(run, type(module).__name__, min(batches))[1]
    seconds = {}
    for size in batches:
        for _ in range(2):
            iteration_s(size)
        seconds[size] = statistics.median(iteration_s(size) for _ in range(repeats))
    gpu = None
    if run.device.type == "cuda":
        import torch
        gpu = torch.cuda.get_device_name(run.device)
    name = probe.optimizer_name(optimizer) if is_given else None
    return ModuleProbe(graph.json(), graph.precision, seconds, gpu, name if name in probe.KNOWN_OPTIMIZERS else None)


def _probe_module():
    """Loads the PyTorch probe, from the installation (next to the scenarios) or from the source tree."""
    for above in pathlib.Path(__file__).resolve().parents:
        for place in (above / "share/lockstep/lockstep_probe.py", above / "calib/torch/lockstep_probe.py"):
            if place.exists():
                spec = importlib.util.spec_from_file_location("lockstep_probe", place)
                module = importlib.util.module_from_spec(spec)
                try:
                    spec.loader.exec_module(module)
                except SystemExit as without_torch:  # the probe is a program, too
                    raise _core.LockstepError(str(without_torch)) from None
                return module
    raise _core.LockstepError("no lockstep_probe.py beside the package; allowed: the installed package or the sources")
