"""Further questions: plans, all-reduces, losses, kernels, names."""
import collections.abc
import json

from . import _core
from ._models import model_text
from ._options import documentation, signature, without_none


class Plan(collections.abc.Sequence):
    """A sequence of a plan's points: dicts as in `plan job --json`. `recommended` is the best one, or None."""

    def __init__(self, document):
        self._document = document

    def __getitem__(self, index):
        return self._document["points"][index]

    def __len__(self):
        return len(self._document["points"])

    @property
    def recommended(self):
        wanted = self._document["answer"]["recommended"]
        return next((point for point in self if wanted is not None and point["id"] == wanted), None)

    @property
    def text(self):
        """The recommendation in a sentence."""
        return self._document["answer"]["text"]

    def to_dict(self):
        """Returns the dict that `plan job --json` writes."""
        return self._document


def plan(**options):
    options = without_none(options)
    if "model" in options:
        options["model"] = model_text(options["model"])
    return Plan(json.loads(_core.answer("plan_job", json.dumps(options))))


plan.__doc__ = documentation("plan_options", "Compares jobs: the options of `plan job` by their names; lists are compared.")
plan.__signature__ = signature("plan_options")


def all_reduce(**options):
    """Returns times of all-reduces: the rows of `simulate all-reduce --json`, with "gpus", "bytes", "seconds", "low_s",
    "high_s" and bandwidths. Options: gpu, gpus, bytes, network, gpus_per_node, link, algorithm, cluster. Sizes are numbers
    of bytes, or texts such as "1 GB"."""
    options = without_none(options)
    if "bytes" in options:
        sizes = options["bytes"] if isinstance(options["bytes"], list) else [options["bytes"]]
        options["bytes"] = [f"{size} B" if isinstance(size, int) else size for size in sizes]
    return json.loads(_core.answer("all_reduce", json.dumps(options)))["rows"]


def loss(**options):
    """Returns a language model's loss by tokens, days and dollars: the rows of `simulate loss --json`, the best first.

    loss(parameters="8B", tokens=["1T"])[0]["loss"]["value"]
    loss(model_family="llama3", gpu="H100", gpus=[512, 1024], price=2, budget="1 MUSD", deadline="30d")[0]"""
    if "model" in options:
        options["model"] = model_text(options["model"])
    return json.loads(_core.answer("loss", json.dumps(without_none(options))))["rows"]


def kernel(kind, **options):
    """Returns the time of one kernel. Options are those of `simulate kernel KIND`, by name.

    kernel("gemm", gpu="H100", m=8192, n=14336, k=4096)["seconds"]"""
    return json.loads(_core.answer("kernel", json.dumps({"kernel": kind, **without_none(options)})))


def names():
    """Lists the names that options accept: {"models", "gpus", "links", "networks", "software", "algorithms"}."""
    return json.loads(_core.answer("names", "{}"))
