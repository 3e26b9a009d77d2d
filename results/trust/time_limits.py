#!/usr/bin/env python3
"""Measures how long `simulate` computes for large jobs: every algorithm on many GPUs, and searches of splits.

    results/trust/time_limits.py [build/simulate] [--table FILE]

Prints the slowest commands by processor time. Exits with 1 if one computes for more than 30 s, ends without an answer or
a refusal, or needs more than 8 GB.
"""
import argparse
import os
import resource
import subprocess
import sys

MOST_SECONDS = 30
MOST_BYTES = 8e9
ALGORITHMS = """baidu-ring cuda-aware double-binary-tree ea-sgd halving-doubling hierarchical hybcomm hybrid kvstore one-bit
parameter-server ps-gpu ring s-sgd sfb sharded sma theano-mpi torus tree""".split()
GPUS = [512, 1024, 4096, 16384, 65536, 131072, 1048576]
SEARCHED = ["llama3_8b", "llama3_1_405b", "kimi_k2", "qwen3_235b_a22b", "deepseek_v3"]


def commands():
    for algorithm in ALGORITHMS:
        for gpus in GPUS:
            yield ["job", "--model", "resnet50", "--gpu", "h100-sxm", "--batch", "64", "--gpus", str(gpus),
                   "--network", "8x 400 Gb/s InfiniBand", "--algorithm", algorithm]
        for gpus in (256, 512, 1024):
            yield ["job", "--model", "llama3_2_1b", "--gpu", "l40s", "--batch", "4", "--gpus", str(gpus),
                   "--network", "2x 100 Gb/s RoCE", "--algorithm", algorithm, "--ignore-memory"]
    for model in SEARCHED:
        for gpus in (256, 1024, 8192, 65536):
            yield ["job", "--model", model, "--gpu", "h100-sxm", "--gpus", str(gpus), "--tokens", "1T"]
            yield ["job", "--model", model, "--gpu", "h100-sxm", "--gpus", str(gpus), "--global-batch", "268435456",
                   "--optimise", "split"]


def measure(command):
    """Returns processor seconds, peak bytes and the exit code. Negative: a signal, such as 24 at twice the limit."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (2 * MOST_SECONDS, 2 * MOST_SECONDS + 5))
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
    _, status, usage = os.wait4(child.pid, 0)
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss, code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulate", nargs="?", default="build/simulate")
    parser.add_argument("--table", help="writes the slowest 20 as a Markdown table")
    arguments = parser.parse_args()
    rows = []
    for options in commands():
        seconds, size, code = measure([arguments.simulate] + options)
        rows.append((seconds, size, code, "simulate " + " ".join(f'"{o}"' if " " in o else o for o in options)))
    rows.sort(reverse=True)
    bad = [row for row in rows if row[0] > MOST_SECONDS or row[1] > MOST_BYTES or row[2] not in (0, 2)]
    lines = ["| Processor time | Memory | Exit code | Command |", "|---:|---:|---:|---|"]
    lines += [f"| {s:.1f} s | {b / 1e9:.2f} GB | {c} | `{command}` |" for s, b, c, command in rows[:20]]
    print("\n".join(lines))
    print(f"{len(rows)} commands, {len(bad)} beyond {MOST_SECONDS} s or {MOST_BYTES / 1e9:.0f} GB, or ended otherwise")
    if arguments.table:
        with open(arguments.table, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    for row in bad:
        print("beyond:", row[3], f"{row[0]:.1f} s, {row[1] / 1e9:.2f} GB, exit code {row[2]}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
