"""Lockstep predicts how fast a training job runs, how much memory it needs and what it costs.

    import lockstep
    job = lockstep.Job(model="llama3_8b", gpu="H100", gpus=64, tokens="1T", price=2.5)
    print(lockstep.predict(job))

A Job takes the options of `simulate job` by their names ("--global-batch" is global_batch). Calls run in this process, write
no file and release the GIL, so threads run in parallel.
"""
from ._answers import Plan, all_reduce, kernel, loss, names, plan
from ._core import LockstepError, version as _version
from ._job import Job
from ._prediction import Prediction, predict, predict_many
from ._profile import fit_probe, load_profile

__version__ = _version().split()[1]
__all__ = ["Job", "Prediction", "Plan", "LockstepError", "all_reduce", "fit_probe", "kernel", "load_profile", "loss", "names", "plan",
           "predict", "predict_many"]
