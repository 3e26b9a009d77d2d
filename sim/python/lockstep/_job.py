"""The class Job."""
import json
import os
import shlex

from . import _core
from ._models import config_text, model_text
from ._options import documentation, option_key, options_of, signature, without_none

# Groups of options of which a job has one. Changing one removes the others of its group.
ALTERNATIVES = [{option_key(name) for name in group} for group in json.loads(_core.alternatives())]


class Job:
    # The end of this file sets docstring and signature from the options.

    read = ""  # set by from_file(), from_text() and from_config(): the text that --from prints

    def __init__(self, **options):
        unknown = [key for key in options if key not in options_of("options")]
        if unknown:
            _core.answer("job", json.dumps({unknown[0]: ""}))  # raises an error with the nearest options
        options = without_none(options)
        if "model" in options:
            options["model"] = model_text(options["model"])
        self.__dict__["_options"] = options

    def __setattr__(self, key, value):
        raise AttributeError(f"a Job does not change; allowed: job.replace({key}=...), which returns another")

    def __getattr__(self, key):
        if key.startswith("_") or key not in options_of("options"):
            raise AttributeError(key)
        return self._options.get(key)

    def __eq__(self, other):
        return isinstance(other, Job) and self._options == other._options

    def __hash__(self):
        return hash(json.dumps(self._options, sort_keys=True))

    def __repr__(self):
        return "lockstep.Job(" + ", ".join(f"{key}={value!r}" for key, value in self._options.items()) + ")"

    @property
    def options(self):
        """The given options by name."""
        return dict(self._options)

    def replace(self, **changes):
        """Returns a job with changed options; None removes an option. A new batch replaces global_batch or accumulation, and
        vice versa. Likewise, tokens and epochs replace each other."""
        options = dict(self._options)
        for key, value in changes.items():
            for other in [key, *(other for group in ALTERNATIVES if key in group for other in group)]:
                if other == key or other not in changes:
                    options.pop(other, None)
            if value is not None:
                options[key] = value
        job = Job(**options)
        job.__dict__["read"] = self.read
        return job

    def command_line(self):
        """Returns the `simulate job` command that gives the same answer."""
        words = ["simulate", "job"]
        for key, value in self._options.items():
            option = options_of("options")[key]["option"]
            if isinstance(value, bool):
                if value:
                    words.append(option)
                elif options_of("options")[key]["negation"]:
                    words.append("--no-" + option[2:])
            elif isinstance(value, list):
                words += [option, ",".join(str(one) for one in value)]
            else:
                words += [option, str(value)]
        return " ".join(shlex.quote(word) for word in words)

    @classmethod
    def from_file(cls, path, format="", free_split=False, **options):
        """Reads a launch script or configuration, as `simulate job --from` does; `options` override it. `free_split` searches a
        faster split than the file's, like --free-split.

        The attribute `read` of the job lists the keys that were read and those that were not."""
        return cls._from_launch(os.fspath(path), "", format, free_split, options)

    @classmethod
    def from_text(cls, text, format="", free_split=False, **options):
        """Reads the text of a launch script or configuration."""
        if not text.strip():
            raise _core.LockstepError("text: nothing is in it; allowed: a launch script or a configuration")
        return cls._from_launch("text", text, format, free_split, options)

    @classmethod
    def from_config(cls, config, format="", free_split=False, **options):
        """Reads a configuration object: HuggingFace TrainingArguments, a Megatron-Bridge ConfigContainer, a dataclass such as
        torchtitan's, an object with to_dict(), or a dict in one of the formats of `simulate job --from`."""
        return cls.from_text(config_text(config), format, free_split, **options)

    @classmethod
    def _from_launch(cls, path, text, format, frees_split, given):
        given = without_none(given)
        gpus = given.get("gpus", [])
        gpus = [gpus] if isinstance(gpus, int) else gpus if all(isinstance(one, int) for one in gpus) else []
        read = json.loads(_core.read_launch(path, text, format, gpus, frees_split))
        options = {}
        for name, value in read["options"]:
            key, value = _option_value(name, value)
            if key in given or any(key in group and group & given.keys() for group in ALTERNATIVES):
                continue
            options[key] = value
        if any(isinstance(given.get(key), int) and not isinstance(given[key], bool) for key in ("seq_length", "sequence")):
            model, mark, length = str(options.get("model", "")).rpartition("@")
            if mark and length.isdigit():
                options["model"] = model
        options.update(given)
        missing = [f"{key} ({why})" for name, why in read["unevaluated"] for key in [option_key(name)]
                   if key and key not in options]
        missing += [key for key in ("model", "gpu", "gpus") if key not in options]
        if missing:
            unknown = read["unknown_words"] if "model" in missing else ""
            raise _core.LockstepError(f"{path}: also give " + ", ".join(missing) + unknown)
        job = cls(**options)
        job.__dict__["read"] = read["read"]
        return job


def _option_value(name, value):
    """("--tensor", "8") -> ("tensor", 8); ("--no-sequence-parallel", "") -> ("sequence_parallel", False)."""
    key = option_key(name)
    options = options_of("options")
    if key not in options and key.startswith("no_"):
        return key[3:], False
    option = options[key]
    if option["type"] == "boolean":
        return key, True
    number = {"integer": int, "number": float}.get(option["type"])
    if option["list"]:
        return key, [number(one) if number else one for one in value.split(",")]
    return key, number(value) if number else value


Job.__doc__ = documentation("options", "A training job, in the options of `simulate job` by their names.")
Job.__signature__ = signature("options")
