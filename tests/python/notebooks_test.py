#!/usr/bin/python3
"""Every example notebook runs from its first cell to its last, and draws what it says. Skipped (77) without Jupyter's
nbconvert, a Python kernel, pandas or matplotlib.

usage: notebooks_test.py BUILD_FOLDER
"""
import importlib.util
import os
import pathlib
import sys
import tempfile

NEEDED = ("nbconvert", "nbformat", "ipykernel", "pandas", "matplotlib")
missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: {', '.join(missing)} of Debian (./bootstrap test --with-torch installs them)")
    sys.exit(77)

import nbformat  # noqa: E402
from nbconvert.preprocessors import ExecutePreprocessor  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "sim/python/examples"
os.environ["PYTHONPATH"] = str(pathlib.Path(sys.argv[1]).resolve() / "python")
os.environ["IPYTHONDIR"] = os.environ["JUPYTER_RUNTIME_DIR"] = os.environ["MPLCONFIGDIR"] = tempfile.mkdtemp(prefix="lockstep-notebooks.")
pictures = 0
for path in sorted(EXAMPLES.glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), f"{path}: outputs are committed"
    ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(EXAMPLES)}})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert len(outputs) >= 4, f"{path}: {len(outputs)} outputs"
    pictures += sum("image/png" in output.get("data", {}) for output in outputs)
    print(f"{path.name}: {len(outputs)} outputs")
assert pictures >= 2, f"{pictures} pictures"
