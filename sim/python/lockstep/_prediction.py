"""The answer about a job."""
import concurrent.futures
import functools
import html
import json
import os

from . import _core
from ._job import Job


def predict(job=None, **options):
    """Predicts a Job, or the job with these options. Raises LockstepError with the message of `simulate job`."""
    if job is None:
        job = Job(**options)
    elif not isinstance(job, Job):
        raise _core.LockstepError(f"job: {type(job).__name__} is no lockstep.Job; allowed: a Job, or options by their names")
    elif options:
        job = job.replace(**options)
    return Prediction(job, _core.predict(json.dumps(job.options)))


def predict_many(jobs, threads=None, progress=None):
    """Predicts Jobs, or dictionaries of options, in parallel threads. Returns a list of dictionaries in the order of the jobs,
    ready for pandas.DataFrame: "status" ("ok", "does-not-fit" or "refused"), "reason" (empty if ok), the job's options, and the
    numbers of predict() at the largest number of GPUs that fits. "model", "gpu" and "software" are as given; "model_id", "gpu_id"
    and "software_id" are their names in the catalogue. A refused job does not stop the others. `progress(done, total)` is
    called after each job, in the order of the jobs."""
    jobs = list(jobs)

    def row_of(job):
        options = job if isinstance(job, dict) else job.options
        try:
            prediction = predict(**job) if isinstance(job, dict) else predict(job)
            names = ("model", "gpu", "software")
            ids = {f"{name}_id": prediction[name] for name in names}
            given = {name: options[name] for name in names if name in options}
            return {"status": "ok", "reason": "", **options, **prediction, **ids, **given}
        except _core.LockstepError as error:
            return {"status": getattr(error, "status", "refused"), "reason": str(error), **options}

    with concurrent.futures.ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        rows = []
        for row in pool.map(row_of, jobs):
            rows.append(row)
            if progress is not None:
                progress(len(rows), len(jobs))
        return rows


class Prediction(dict):
    """Maps keys to the numbers of a job at its largest number of GPUs: a row of a pandas.DataFrame. `rows` has one row for
    each number of GPUs. SI units; low and high bound an 80 % prediction interval."""

    def __init__(self, job, answered):
        self.job = job
        self._answered = answered
        super().__init__(self._largest)  # a dict, because pandas.DataFrame({name: prediction}) takes no other mapping

    def __reduce__(self):
        return predict, (self.job,)  # another process predicts again

    @functools.cached_property
    def _document(self):
        return json.loads(self._answered.job())

    @functools.cached_property
    def rows(self):
        """[{"model", "gpu", "software", "gpus", "samples_per_s", "samples_per_s_low", "samples_per_s_high", "efficiency",
        "efficiency_over_gpus", ..., "memory_barely_fits", "batch_per_gpu", "global_batch", "split_tensor", "split_pipeline", ...}], by the job's numbers
        of GPUs. A job without a split has no "split_..."."""
        rows, by_gpus = [], {}
        for one in self._document["predictions"]:
            gpus = one["gpus"]
            row = by_gpus.get(gpus)
            if row is None:
                read = self._document["read"]
                row = by_gpus[gpus] = {**{name: read[name]["id"] for name in ("model", "gpu", "software")}, "gpus": gpus}
                rows.append(row)
            name = {"images_per_s": "samples_per_s", "scaling_efficiency": "efficiency"}.get(one["metric"], one["metric"])
            row.update({name: one["predicted"], name + "_low": one.get("low"), name + "_high": one.get("high")})
            if "baseline_gpus" in one:
                row[name + "_over_gpus"] = one["baseline_gpus"]
            if "memory" in one:
                row.update(memory_bytes=one["memory"]["bytes"], memory_capacity_bytes=one["memory"]["capacity_bytes"],
                           memory_barely_fits=one["memory"]["barely_fits"])
            for key in ("batch_per_gpu", "global_batch", "usd"):
                if key in one:
                    row[key] = one[key]
            if "split" in one:
                row.update({f"split_{key}": value for key, value in one["split"].items() if key != "global_batch"})
        for one in self._document.get("tokens", []):
            by_gpus[one["gpus"]].update({key: value for key, value in one.items() if key != "gpus"})
        return rows

    @property
    def refused(self):
        """[{"gpus", "status", "reason"}]: the requested numbers of GPUs that have no row."""
        return self._document.get("refused", [])

    @property
    def _largest(self):
        return max(self.rows, key=lambda row: row["gpus"])

    def __getattr__(self, key):
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self._largest[key]
        except KeyError:
            raise AttributeError(f"{key}: no number of this prediction; allowed: {', '.join(self._largest)}") from None

    @property
    def memory(self):
        """{"bytes", "capacity_bytes", "parts": {"weights", "gradients", ...}}, per GPU."""
        return self._of_largest("memory")

    @property
    def assumptions(self):
        """The inputs of the prediction: [{"pointer", "value", "kind", "source"}]."""
        return self._of_largest("assumptions")

    @property
    def splits(self):
        """The fastest splits for the largest number of GPUs; empty if none was searched."""
        splits = self._document.get("splits", [])
        return splits[-1]["splits"] if splits else []

    def _of_largest(self, key):
        found = [one[key] for one in self._document["predictions"] if one["gpus"] == self._largest["gpus"] and key in one]
        return found[0] if found else None

    @functools.cached_property
    def _result(self):
        return json.loads(self._answered.result())

    @property
    def breakdown(self):
        """Seconds of an iteration by part: computing, and each cause of waiting. They add up to the iteration's time."""
        point = max(self._result["points"], key=lambda one: one["gpus"])
        split = point.get("details", {}).get("split")
        if split is None:
            return {key: point[key] for key in ("compute_s", "exposed_communication_s", "input_wait_s")}
        return {"compute_s": point["compute_s"], "bubble_s": split["bubble_fraction"] * split["pipeline_s"],
                **{key: split[key] for key in ("tensor_s", "context_s", "expert_s", "sharding_s", "exposed_exchange_s")},
                "input_wait_s": point["input_wait_s"]}

    @property
    def iteration_s(self):
        """Mean time of an iteration, in seconds."""
        return max(self._result["points"], key=lambda one: one["gpus"])["iteration_s"]["mean"]

    def layers(self):
        """Returns times of the layers on one GPU: [{"layer", "forward_s", "backward_s", "update_s", "parameters",
        "gradient_bytes"}]."""
        return json.loads(self._answered.layers())

    def timeline(self):
        """Returns Chrome trace events, for Perfetto. If the job is split: one iteration on the first GPU of each pipeline
        stage. Otherwise: some iterations of the first 16 GPUs and the last."""
        return json.loads(self._answered.timeline())

    def scenario(self):
        """Returns the job as a scenario, as `simulate job --scenario` writes it."""
        return json.loads(self._answered.scenario())

    def to_dict(self):
        """Returns the dict that `simulate job --json` writes."""
        return json.loads(self.to_json())

    def to_json(self):
        """Returns the JSON text that `simulate job --json` writes."""
        return self._answered.job()

    def table(self):
        """Returns the text that `simulate job` prints."""
        return self._answered.table()

    def __str__(self):
        return self.table()

    def __repr__(self):
        row = self._largest
        return (f"<lockstep.Prediction: {row['model']} on {row['gpus']} {row['gpu']}: {row['samples_per_s']:.4g} samples/s "
                f"({row['samples_per_s_low']:.4g} to {row['samples_per_s_high']:.4g})>")

    def _repr_html_(self):
        keys = [key for key in self._largest if key not in ("model", "gpu", "software")]
        head = "".join(f"<th>{html.escape(key.replace('_', ' '))}</th>" for key in keys)
        body = "".join("<tr>" + "".join(f"<td>{_shown(row.get(key))}</td>" for key in keys) + "</tr>" for row in self.rows)
        title = html.escape(f"{self._document['read']['model']['title']} on {self._document['read']['gpu']['name']}")
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value):
    return "" if value is None else f"{value:,.4g}" if isinstance(value, float) else html.escape(str(value))
