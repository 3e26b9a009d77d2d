"""Converts models and configurations that are objects of other libraries to texts."""
import contextlib
import dataclasses
import enum
import io
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


def config_text(config):
    """Returns a configuration object of a training as the text of a file."""
    if hasattr(config, "to_yaml"):
        return _yaml_text(config)
    if hasattr(config, "to_json_string"):
        return config.to_json_string()
    if hasattr(config, "to_dict"):
        config = config.to_dict()
    if isinstance(config, dict) or (dataclasses.is_dataclass(config) and not isinstance(config, type)):
        return json.dumps(_plain(config))
    raise _core.LockstepError(f"config: {type(config).__name__} is no configuration; allowed: TrainingArguments, "
                              "ConfigContainer, a dataclass, an object with to_dict(), a dict")


def _yaml_text(config):
    """Depending on its version, ConfigContainer.to_yaml() without a path prints or returns the text."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        text = config.to_yaml()
    return text if isinstance(text, str) else printed.getvalue()


def _plain(value):
    """Replaces values that JSON cannot represent: enumerations by their values, dataclasses by dicts, others, such as
    torch.dtype, by their text."""
    if isinstance(value, enum.Enum):
        value = value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
