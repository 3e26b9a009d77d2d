#!/usr/bin/env python3
"""tradeoff.py PROFILE.json THROUGHPUT.csv TARGET OUT.svg: Crossbow's trade-off curves from our own runs.

Three panels against the number of learners: throughput, epochs to the target of every seed with the median of those
that reached it and the fitted law, and time to the target (epochs x images / throughput of the same number of
learners). A run that did not reach the target is an open triangle at its length.
"""
import csv
import json
import math
import statistics
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP = 280, 200, 60, 46, 84
BLUE, GREY = "#1f5fa8", "#888"


def runs_by_learners(profile, target):
    cells = {}
    for run in profile["runs"]:
        if run["algorithm"] == "sma" and run.get("tau", 1) == 1 and not run.get("diverged"):
            at = run["targets"][target]
            images = run["batch"] * run["workers"] / profile["train_samples"]
            reached = "iterations" in at
            cells.setdefault(int(run["workers"]), []).append(
                (images * (at["iterations"] if reached else at["more_than"]), reached))
    return dict(sorted(cells.items()))


def law_of(profile, name):
    for fit in profile["fits"]:
        if fit["algorithm"] == "sma" and fit["variable"] == "learners" and fit["target"] == name:
            p = fit["parameters"]
            scale = fit["batch"] / profile["train_samples"]
            return lambda m: p["iterations_least"] * (1 + p["critical"] / m) * m * scale
    return None


class Panel:
    def __init__(self, index, title, unit, learners, top):
        self.x0 = LEFT + index * (WIDTH + GAP)
        self.first, self.last = math.log2(min(learners)), math.log2(max(learners))
        self.top = top
        self.parts = [f'<text x="{self.x0}" y="{TOP - 22}" class="title">{title}</text>',
                      f'<text x="{self.x0}" y="{TOP - 8}" class="unit">{unit}</text>']
        for i in range(5):
            y, value = self.y(top * i / 4), top * i / 4
            self.parts.append(f'<line x1="{self.x0}" x2="{self.x0 + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
            self.parts.append(f'<text x="{self.x0 - 6}" y="{y + 4:.1f}" class="tick" text-anchor="end">{value:g}</text>')
        for m in learners:
            self.parts.append(f'<text x="{self.x(m):.1f}" y="{TOP + HEIGHT + 16}" class="tick" text-anchor="middle">{m}</text>')
        self.parts.append(f'<text x="{self.x0 + WIDTH / 2}" y="{TOP + HEIGHT + 34}" class="unit" text-anchor="middle">learners m, batch 16 each</text>')

    def x(self, m):
        span = max(self.last - self.first, 1)
        return self.x0 + 12 + (WIDTH - 24) * (math.log2(m) - self.first) / span

    def y(self, value):
        return TOP + HEIGHT * (1 - value / self.top)

    def line(self, points, style):
        path = " ".join(f"{self.x(m):.1f},{self.y(v):.1f}" for m, v in points)
        self.parts.append(f'<polyline points="{path}" class="{style}"/>')

    def dot(self, m, value, reached):
        x, y = self.x(m), self.y(value)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="dot"/>' if reached else
                          f'<path d="M{x - 4:.1f},{y + 3:.1f} h8 l-4,-7 z" class="open"/>')


def nice(value):
    step = 10 ** math.floor(math.log10(value))
    return next(step * f for f in (1, 2, 4, 6, 8, 10) if step * f >= value)


def main(profile_path, throughput_path, target, out):
    profile = json.load(open(profile_path))
    index = next(i for i, t in enumerate(profile["targets"]) if abs(t["accuracy"] - float(target)) < 1e-9)
    name = profile["targets"][index]["name"]
    cells = runs_by_learners(profile, index)
    with open(throughput_path, newline="") as file:
        rate = {int(row["learners"]): float(row["images_per_cpu_s"]) for row in csv.DictReader(file)}
    learners = [m for m in cells if m in rate]
    seconds = {m: profile["train_samples"] / rate[m] for m in learners}  # of an epoch
    longest = max(e for m in learners for e, _ in cells[m])
    slowest = max(e * seconds[m] for m in learners for e, _ in cells[m])
    panels = [Panel(0, "Throughput", "images per second of one core", learners, nice(max(rate.values()))),
              Panel(1, f"Epochs to {name}", "dots: seeds; line: median; dashed: fitted law", learners, nice(longest)),
              Panel(2, f"Time to {name}", "seconds of one core", learners, nice(slowest))]
    panels[0].line([(m, rate[m]) for m in learners], "curve")
    for m in learners:
        panels[0].dot(m, rate[m], True)
        for epochs, reached in cells[m]:
            panels[1].dot(m, epochs, reached)
            panels[2].dot(m, epochs * seconds[m], reached)
    median = [(m, statistics.median([e for e, reached in cells[m] if reached])) for m in learners
              if any(reached for _, reached in cells[m])]
    panels[1].line(median, "curve")
    panels[2].line([(m, e * seconds[m]) for m, e in median], "curve")
    law = law_of(profile, name)
    if law:
        steps = [learners[0] * (learners[-1] / learners[0]) ** (i / 40) for i in range(41)]
        panels[1].line([(m, law(m)) for m in steps if law(m) <= panels[1].top], "law")
    width, height = LEFT + 3 * WIDTH + 2 * GAP + 20, TOP + HEIGHT + 48
    with open(out, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif">\n'
                   f'<style>.title{{font-size:14px;font-weight:bold}}.unit{{font-size:11px;fill:{GREY}}}.tick{{font-size:11px}}'
                   f'.grid{{stroke:#ddd}}.curve{{fill:none;stroke:{BLUE};stroke-width:2}}'
                   f'.law{{fill:none;stroke:{GREY};stroke-dasharray:5 4}}.dot{{fill:{BLUE};fill-opacity:.6}}'
                   f'.open{{fill:none;stroke:{BLUE}}}</style>\n<rect width="100%" height="100%" fill="white"/>\n')
        for panel in panels:
            file.write("\n".join(panel.parts) + "\n")
        file.write("</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
