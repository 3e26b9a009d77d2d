#!/usr/bin/env python3
"""Draws predicted over published results by class, with their prediction intervals, on a logarithmic scale.

usage: picture.py LEFT_OUT.json OUT.svg     LEFT_OUT.json: of validate --leave-out --json LEFT_OUT.json

Each class shows at most MOST results: every n-th one after sorting by predicted over published, so that the shape of the
class stays. A bar is the interval: blue if it holds the published value, orange if it does not.
"""
import json
import math
import sys

CLASSES = [
    ("throughput, iteration time", ("images_per_s", "iteration_s", "epoch_seconds", "step_time", "throughput",
                                    "throughput_per_gpu", "achieved_flops_per_gpu", "model_flops_per_gpu", "mfu", "hfu")),
    ("all-reduces, exchanges", ("allreduce_busbw", "allreduce_seconds", "comm_seconds")),
    ("time to accuracy", ("time_to_accuracy_s", "time_to_train", "training_time_s")),  # and BY_TOKENS
    ("peak memory", ("peak_memory", "memory_activations", "memory_params_optimizer")),
    ("scaling", ("scaling_efficiency", "speedup")),
]
BY_TOKENS = ("days_for_", "gpu_hours")  # days_for_300B_tokens and so on
MOST = 160
LEFT, TOP, WIDTH, HEIGHT, GAP = 60, 40, 1060, 360, 24
SMALLEST, LARGEST = 0.2, 5


def class_of(metric):
    if metric.startswith(BY_TOKENS):
        return "time to accuracy"
    return next((name for name, metrics in CLASSES if metric in metrics), None)


def height_of(ratio):
    share = math.log(min(max(ratio, SMALLEST), LARGEST) / SMALLEST) / math.log(LARGEST / SMALLEST)
    return TOP + HEIGHT * (1 - share)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        suites = json.load(file)["suites"]
    results = {name: [] for name, _ in CLASSES}
    for record in (record for suite in suites for record in suite["records"]):
        name = class_of(record["metric"])
        if name and record.get("predicted") and record["published"]:
            results[name].append(tuple(record[key] / record["published"] for key in ("predicted", "low", "high")))
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{TOP + HEIGHT + 60}" '
             'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>']
    for ratio in (0.2, 0.5, 1, 2, 5):
        y = height_of(ratio)
        dash = "" if ratio == 1 else ' stroke-dasharray="4 4"'
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" stroke="#888"{dash}/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{ratio:g}</text>')
    drawn = {name: rows[::max(1, math.ceil(len(rows) / MOST))] for name, rows in
             ((name, sorted(rows)) for name, rows in results.items())}
    step = (WIDTH - GAP * (len(CLASSES) - 1)) / sum(map(len, drawn.values()))
    x = LEFT
    for name, _ in CLASSES:
        begin = x
        for predicted, low, high in drawn[name]:
            colour = "#9dbbe0" if low <= 1 <= high else "#f0a65a"
            lines.append(f'<path d="M{x:.1f} {height_of(low):.1f}V{height_of(high):.1f}" stroke="{colour}"/>'
                         f'<circle cx="{x:.1f}" cy="{height_of(predicted):.1f}" r="1.3"/>')
            x += step
        inside = sum(low <= 1 <= high for _, low, high in results[name]) / max(1, len(results[name]))
        for line, text in enumerate((name, f"{len(results[name]):,} results, {100 * inside:.0f} % inside")):
            lines.append(f'<text x="{(begin + x) / 2:.1f}" y="{TOP + HEIGHT + 24 + 18 * line}" '
                         f'text-anchor="middle">{text}</text>')
        x += GAP
    lines.append(f'<text x="{LEFT}" y="22">predicted / published, each result by constants of other sources; dot: prediction, '
                 'bar: 80 % interval (orange: it misses the published value)</text></svg>')
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
