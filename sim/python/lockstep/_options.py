"""The options of the commands, as the core describes them."""
import functools
import inspect
import json

from . import _core

PYTHON_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}


@functools.lru_cache(maxsize=None)
def options_of(question):
    """Returns {key: {"option", "type", "list", "minimum", "maximum", "choices", "help"}} for "options" or "plan_options"."""
    return {option["key"]: option for option in json.loads(_core.answer(question, "{}"))}


def option_key(name):
    """"--global-batch" -> "global_batch"."""
    return name.lstrip("-").replace("-", "_")


def range_text(option):
    """The type and range of an option: "integer from 1 to 1024", "string: ring, tree"."""
    kind = ("list of " if option["list"] else "") + option["type"]
    if "choices" in option:
        return f"{kind}: {', '.join(option['choices'])}"
    if "minimum" in option:
        return f"{kind} from {option['minimum']:g} to {option['maximum']:g}"
    return kind


def documentation(question, head):
    """Returns a docstring with one line per option."""
    lines = [head, "", "Options:"]
    for key, option in options_of(question).items():
        lines.append(f"    {key}: {range_text(option)}. {option['help']}")
    return "\n".join(lines)


def signature(question):
    """Returns a signature with the options as keyword arguments whose default is None."""
    parameters = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in options_of(question)]
    return inspect.Signature(parameters)


def without_none(options):
    """Removes options that are None, and converts the others to plain values for JSON."""
    given = {}
    for key, value in options.items():
        if value is None:
            continue
        if isinstance(value, (tuple, set, range)):
            value = list(value)
        if hasattr(value, "tolist"):  # a number or an array of numpy
            value = value.tolist()
        given[key] = value
    return given
