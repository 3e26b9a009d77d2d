"""Converts models that are objects of other libraries to texts for the option `model`."""
import json

from . import _core


def model_text(model):
    """Returns a name, path or text unchanged, and a HuggingFace configuration (or a module's) as JSON. Other modules are
    traced by fit_probe()."""
    if isinstance(model, str):
        return model
    if isinstance(model, dict):
        return json.dumps(model)
    config = getattr(model, "config", model)
    if hasattr(config, "to_dict") and hasattr(config, "model_type"):
        return json.dumps(_plain(config.to_dict()))
    if hasattr(model, "__fspath__"):
        return model.__fspath__()
    raise _core.LockstepError(
        f"model: {type(model).__name__} has no configuration; allowed: a name, a HuggingFace configuration or a model "
        "that has one, a dict; for a module of your own, lockstep.fit_probe(module, batch, loss).job(...)")


def _plain(value):
    """Replaces values that JSON cannot represent, such as torch.dtype, by their text."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
