"""Models that are objects of other libraries, as texts that the option `model` takes."""
import json

from . import _core


def model_text(model):
    """A name, a path or a text stays as it is. A HuggingFace configuration, or a module that has one, becomes its JSON; any
    other torch.nn.Module must be traced: lockstep.Job(model=lockstep.trace(module, batch))."""
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
        "that has one, a dict, or lockstep.fit_probe(module, ...) for a module of your own")


def _plain(value):
    """Without what JSON does not have, such as torch.dtype."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
