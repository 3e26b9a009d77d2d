#!/usr/bin/env python3
"""Plants faults in collectives and schedules, one at a time, and runs the tests that must catch them.

    tests/faults/planted_faults.py BUILD      prints a table in Markdown; exit code 1 where a fault was not caught

BUILD is a configured build folder (generator Ninja) whose test programs are built. No source is touched: the changed
copy is compiled beside the build, and linked into a copy of the test program in front of the libraries. It is no part of
the test suite, for it compiles.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLLECTIVE, SCHEDULE = "test_collective", "test_schedule"

# What goes wrong, the file, the text that is replaced (its first place), by what, the test program.
FAULTS = [
    ("a reduce-scatter with one round too many", "sim/collective/ring.cpp", "ranks - 1, true", "ranks, true", COLLECTIVE),
    ("an all-gather with one round too few", "sim/collective/ring.cpp", "ranks - 1, false", "ranks - 2, false", COLLECTIVE),
    ("a ring that sends to itself", "sim/collective/plan.cpp", "members[(i + 1) % members.size()]", "members[i]", COLLECTIVE),
    ("a ring all-reduce without its gather", "sim/collective/plan.cpp",
     "  plan.phases.push_back(ring_phase(members, bytes, rounds, false));\n", "", COLLECTIVE),
    ("chunks rounded down", "sim/collective/plan.cpp", "(bytes + parts - 1) / parts", "bytes / parts", COLLECTIVE),
    ("recursive halving that always uses the neighbour", "sim/collective/halving_doubling.cpp", "i ^ distance", "i ^ 1", COLLECTIVE),
    ("recursive halving that sends half of all data in each round", "sim/collective/halving_doubling.cpp", "chunk_bytes(bytes, parts), true",
     "chunk_bytes(bytes, 2), true", COLLECTIVE),
    ("folded ranks that do not receive the result", "sim/collective/halving_doubling.cpp",
     "  if (folded > 0) plan.phases.push_back(unfold);\n", "", COLLECTIVE),
    ("a chain that sends slices it does not have", "sim/collective/hierarchical.cpp", "s < 0 || s >= slices", "s < 0",
     COLLECTIVE),
    ("groups that get no result", "sim/collective/hierarchical.cpp",
     "  append_chains(plan, groups, group_size, m, false);\n", "", COLLECTIVE),
    ("a chain in the wrong order", "sim/collective/hierarchical.cpp", "group.size - 2 - hop", "hop", COLLECTIVE),
    ("two identical trees", "sim/collective/double_binary_tree.cpp", "(edge.child + 1) % ranks", "edge.child", COLLECTIVE),
    ("trees that carry all instead of half", "sim/collective/double_binary_tree.cpp", "chunk_bytes(chunk_bytes(bytes, 2), slices)",
     "chunk_bytes(bytes, slices)", COLLECTIVE),
    ("a torus without its columns", "sim/collective/torus.cpp", "{&scatter_rows, &scatter_columns, &gather_columns, &gather_rows}",
     "{&scatter_rows, &gather_rows}", COLLECTIVE),
    ("a tree that skips ranks", "sim/collective/tree.cpp", "parent += 2 * step", "parent += 4 * step", COLLECTIVE),
    ("an all-reduce before its gradient", "sim/schedule/s_sgd.cpp", "options.launch_s, {ready.back()}", "options.launch_s, {}",
     SCHEDULE),
    ("one accumulation step too many", "sim/schedule/s_sgd.cpp", "int step = 1; step < options.accumulation",
     "int step = 0; step < options.accumulation", SCHEDULE),
    ("an update before the last all-reduce", "sim/schedule/s_sgd.cpp",
     'gpu.compute(kCompute, "update", cost.update_s, {updated})', 'gpu.compute(kCompute, "update", cost.update_s, {})', SCHEDULE),
    ("a bucket that forgets its last tensors", "sim/schedule/fusion.cpp", "  if (open.tensors > 0) send();\n", "", SCHEDULE),
    ("a first bucket as large as the others", "sim/schedule/fusion.cpp", "is_first ? first_threshold_bytes : threshold_bytes",
     "threshold_bytes", SCHEDULE),
    ("a backup worker that starts before it has read", "sim/schedule/backup_workers.cpp",
     "version < wanted; });", "version + 1 < wanted; });", SCHEDULE),
    ("an asynchronous worker that does not keep the parameters it read", "sim/schedule/async_sgd.cpp", "read_[at(shard)] = me_.receive",
     "read_[0] = me_.receive", SCHEDULE),
]


def link_command(build, target):
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=True)
    links = [c for c in commands.stdout.splitlines() if f" -o {target} " in c]
    return links[-1].split(" && ")[1] if " && " in links[-1] else links[-1]


def compile_command(build, source):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        return next(c["command"] for c in json.load(file) if c["file"] == os.path.join(ROOT, source))


def run(command, build, seconds=300):
    try:
        done = subprocess.run(command, cwd=build, shell=True, capture_output=True, text=True, timeout=seconds, check=False)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return 124, "did not end"


def plant(fault, build, folder):
    """What became of it: the first test that failed, or why it could not be planted."""
    _, source, old, new, test = fault
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        text = file.read()
    if old not in text:
        return False, f"cannot be planted: {source} has no `{old}`"
    changed, unit, program = (os.path.join(folder, name) for name in ("changed.cpp", "changed.o", "program"))
    with open(changed, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new, 1))
    words = compile_command(build, source).split(" ")
    words[words.index("-o") + 1] = unit
    words[-1] = changed
    code, said = run(" ".join(words).replace("-Werror", ""), build)
    if code != 0:
        return False, "does not compile: " + said.strip().splitlines()[0]
    link = link_command(build, test).replace(f" -o {test} ", f" -o {program} {unit} ", 1)
    code, said = run(link, build)
    if code != 0:
        return False, "does not link: " + said.strip().splitlines()[0]
    code, said = run(f"timeout 120 {program} -a", build)  # the first failure is enough
    lines = said.splitlines()
    cases = [lines[i + 1].strip() for i, line in enumerate(lines) if line.startswith("-----") and i + 1 < len(lines)]
    return code != 0, cases[0] if code != 0 and cases else f"exit code {code}"


def main():
    build = os.path.abspath(sys.argv[1])
    missed = 0
    print("| Fault | In | Caught by |\n|---|---|---|")
    for fault in FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            is_caught, by = plant(fault, build, folder)
        missed += not is_caught
        print(f"| {fault[0]} | {fault[1]} | {by if is_caught else 'NOT CAUGHT: ' + by} |", flush=True)
    print(f"\n{len(FAULTS) - missed} of {len(FAULTS)} caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
