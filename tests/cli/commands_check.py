#!/usr/bin/env python3
"""Every program that a script of the project calls comes with a package that ./bootstrap installs.

usage: commands_check.py REPOSITORY; prints a line for every program without one, and exits 1. Skipped (77) on a system
that is not Debian, where dpkg cannot say which package a program comes from.

Reads the command names of shell scripts (parsed by shfmt) and of subprocess calls in Python files. Command lines that a
script builds at run time are not seen: only a run in a bare Debian shows them, which .ci/run does.
"""
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

BUILT = ("build", ".git", "node_modules", ".carry")
# Launch scripts that --from reads: never run.
INPUTS = ("scenarios/launch", "scenarios/launch/parts", "scenarios/launch/published", "tests/launch/broken")
BUILTINS = set(subprocess.run(["bash", "-c", "compgen -bk"], capture_output=True, text=True, check=True).stdout.split())
# Commands whose argument is a command in turn, with the number of words that they take in front of it.
WRAPPERS = {"env": 0, "exec": 0, "command": 0, "nice": 0, "xargs": 0, "sudo": 0, "timeout": 1, "taskset": 1}

OPTIONS_WITH_VALUE = {"xargs": "-d -n -P -I -L", "env": "-u -C -S", "timeout": "-k -s", "nice": "-n", "sudo": "-u"}

# tar starts a program for these letters of its first word.
COMPRESSORS = {"z": "gzip", "j": "bzip2", "J": "xz"}

# Programs that are called only where they exist or are needed, each with the reason.
OPTIONAL = {
    "apt-get": "bootstrap looks for it first",
    "debootstrap": "bare_debian installs it",
    "sudo": "only without root, and looked for first",
    "sysctl": "read if there, on GPU machines",
    "nvbandwidth": "NVIDIA's, on GPU machines",
    "nvidia-smi": "on GPU machines",
    "torchrun": "on GPU machines with PyTorch",
    "all_reduce_perf": "nccl-tests, on GPU machines",
    "compute-sanitizer": "CUDA's, on GPU machines",
    "ncu": "CUDA's, on GPU machines",
    "clang-format-14": "on Debian 12, whose bootstrap installs it; the check is skipped elsewhere",
    "cuobjdump": "CUDA's, where CUDA programs are built",
    "llvm-profdata": "clang's coverage, by hand",
}


def is_script(path):
    if path.suffix == ".sh":
        return True
    with open(path, "rb") as file:
        return re.match(rb"#!.*\b(ba)?sh\b", file.readline(80)) is not None


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(BUILT))
        if folder.endswith(INPUTS):
            continue
        yield from (pathlib.Path(folder) / name for name in sorted(names))


def literal(word):
    """The text of a shell word, or None where it holds a variable or a command."""
    text = ""
    for part in word["Parts"]:
        if part["Type"] == "DblQuoted":
            inner = literal({"Parts": part.get("Parts", [])})
            if inner is None:
                return None
            text += inner
        elif part["Type"] in ("Lit", "SglQuoted"):
            text += part.get("Value", "")
        else:
            return None
    return text


def nodes(tree):
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes(value)


def commands_of_call(words):
    """The command that the words of a call start, and the one that it starts in turn."""
    if not words or words[0] is None:
        return
    name, rest = words[0], words[1:]
    yield name
    if name == "tar" and rest and rest[0]:
        yield from (program for letter, program in COMPRESSORS.items() if letter in rest[0].split("f")[0])
    if name == "find":
        for option in ("-exec", "-execdir", "-ok"):
            if option in rest:
                yield from commands_of_call(rest[rest.index(option) + 1:])
    if name not in WRAPPERS:
        return
    if name == "command" and rest and rest[0] in ("-v", "-V"):
        return   # asks whether the command exists
    with_value = OPTIONS_WITH_VALUE.get(name, "").split()
    while rest and rest[0] is not None and (rest[0].startswith("-") or re.match(r"\w+=", rest[0])):
        rest = rest[2 if rest[0] in with_value else 1:]
    yield from commands_of_call(rest[WRAPPERS[name]:])


def parse_shell(path):
    parsed = subprocess.run(["shfmt", "-ln", "bash", "--to-json"], input=path.read_text(), capture_output=True, text=True,
                            check=False)
    if parsed.returncode != 0:
        sys.exit(f"{path}: shfmt cannot read it: {parsed.stderr.strip()}")
    return json.loads(parsed.stdout)


def functions_of_shell(tree):
    return {node["Name"]["Value"] for node in nodes(tree) if node.get("Type") == "FuncDecl"}


def commands_of_shell(tree):
    for node in nodes(tree):
        if node.get("Type") == "CallExpr" and node.get("Args"):
            words = node["Args"]
            for name in commands_of_call([literal(word) for word in words]):
                yield words[0]["Pos"]["Line"], name


def commands_of_python(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
                and getattr(node.func.value, "id", "") == "subprocess"
                and isinstance(node.args[0], ast.List) and node.args[0].elts):
            first = node.args[0].elts[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, first.value


def installed_packages():
    """Of every installed package: its dependencies, each a list of alternatives; and the required ones."""
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package}|${Priority}|${Essential}|${Provides}|${Pre-Depends},${Depends}\n"],
                           capture_output=True, text=True, check=True).stdout
    needs, provided, required = {}, {}, {"apt"}
    for line in shown.splitlines():
        name, priority, essential, provides, depends = line.split("|", 4)
        names = re.sub(r"\([^)]*\)|:any|\s", "", depends)
        needs[name] = [group.split("|") for group in names.split(",") if group]
        for other in re.sub(r"\([^)]*\)|\s", "", provides).split(","):
            provided.setdefault(other, []).append(name)
        if priority == "required" or essential == "yes":
            required.add(name)
    return needs, provided, required


def close_over(wanted, needs, provided):
    """The packages that come with these: their dependencies, as far as installed, and theirs in turn."""
    reached, left = set(), list(wanted)
    while left:
        name = left.pop()
        if name not in needs:
            left.extend(other for other in provided.get(name, []) if other not in reached)
        elif name not in reached:
            reached.add(name)
            for group in needs[name]:
                left.extend(group)
    return reached


def packages_with(program):
    """Packages that hold the program, under any name that leads to it (/bin or /usr/bin, alternatives)."""
    path = shutil.which(program, path="/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin")
    paths = set()
    while path and path not in paths:
        paths |= {path, path.removeprefix("/usr") if path.startswith("/usr/") else "/usr" + path}
        path = os.path.join(os.path.dirname(path), os.readlink(path)) if os.path.islink(path) else None
    found = subprocess.run(["dpkg-query", "-S", *paths], capture_output=True, text=True, check=False).stdout if paths else ""
    return {name.strip().split(":")[0] for line in found.splitlines() if not line.startswith("diversion")
            for name in line.rsplit(": ", 1)[0].split(",")}


def main(root):
    if not shutil.which("dpkg-query"):
        print("skipped: this system has no dpkg-query")
        return 77
    listed = subprocess.run([str(root / "bootstrap"), "packages"], capture_output=True, text=True, check=True).stdout.split()
    needs, provided, required = installed_packages()
    available = close_over(required | set(listed), needs, provided)
    files = list(files_of(root))
    scripts = {path: parse_shell(path) for path in files if path.suffix != ".py" and is_script(path)}
    # A script may call functions of one that it sources.
    known = BUILTINS | set(OPTIONAL) | set().union(*map(functions_of_shell, scripts.values()))
    callers = {}
    for path in files:
        commands = ()
        if path in scripts:
            commands = commands_of_shell(scripts[path])
        elif path.suffix == ".py":
            commands = commands_of_python(path)
        for line, name in commands:
            if "/" not in name and name not in known:
                callers.setdefault(name, f"{path.relative_to(root)} line {line}")
    missing = {name: caller for name, caller in sorted(callers.items()) if not packages_with(name) & available}
    for name, caller in missing.items():
        print(f"{caller}: '{name}' comes with no package of ./bootstrap packages; add its package to bootstrap")
    if len(callers) < 30:
        print(f"only {len(callers)} commands were found: the scripts are not read")
        return 1
    if not missing:
        print(f"{len(callers)} commands, each with its package")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
