#!/usr/bin/env python3
"""Lines that ran, by room and file, of a build with LOCKSTEP_COVERAGE by clang.

    results/coverage/rooms.py BUILD PROFILES [FILE...]

BUILD is the build folder, PROFILES the folder of its programs' .profraw files (LLVM_PROFILE_FILE=PROFILES/%m.profraw while they
ran). Prints a table in Markdown: each room, then the files of which less than 90 % ran. With FILEs, the lines of those that did
not run instead.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FEW = 90  # %
# What only a GPU or its libraries run.
CUDA = ("engine/cuda/", "engine/nvml/")


def programs(build):
    for file in sorted(pathlib.Path(build).iterdir()):
        if file.is_file() and file.stat().st_mode & 0o100 and file.read_bytes()[:4] == b"\x7fELF" and (
                file.suffix != ".so" or file.name == "lockstep_simgrid.so"):
            yield str(file)


def llvm_cov(verb, build, merged, options, files):
    first, *others = programs(build)
    command = ["llvm-cov", verb, f"-instr-profile={merged}", first]
    for other in others:
        command += ["-object", other]
    return subprocess.run(command + options + files, check=True, capture_output=True, text=True).stdout


def room_of(path):
    parts = path.split("/")
    return parts[0] if len(parts) == 2 else "/".join(parts[:2])


def table(build, merged):
    counts, files = {}, []
    for file in json.loads(llvm_cov("export", build, merged, ["-summary-only"], []))["data"][0]["files"]:
        path = file["filename"].removeprefix(str(ROOT) + "/")
        if not path.startswith(("engine/", "calib/", "sim/")) or path.startswith(CUDA):
            continue
        lines = file["summary"]["lines"]
        files.append((path, lines["covered"], lines["count"]))
        for name in {room_of(path), path.split("/")[0]}:
            covered, count = counts.get(name, (0, 0))
            counts[name] = (covered + lines["covered"], count + lines["count"])
    print("| Room | Lines | Ran |\n|---|---:|---:|")
    for name, (covered, count) in sorted(counts.items()):
        print(f"| {name} | {count} | {100 * covered / count:.1f} % |")
    print(f"\n| File below {FEW} % | Lines that did not run | Ran |\n|---|---:|---:|")
    for path, covered, count in sorted(files):
        if count and 100 * covered < FEW * count:
            print(f"| {path} | {count - covered} | {100 * covered / count:.1f} % |")


def lines_not_run(build, merged, files):
    for line in llvm_cov("show", build, merged, ["-use-color=false"], [str(ROOT / file) for file in files]).split("\n"):
        parts = line.split("|", 2)
        if len(parts) < 3 or parts[1].strip() == "0":
            print(line)


def main(build, profiles, *files):
    merged = pathlib.Path(profiles) / "merged.profdata"
    raw = [str(path) for path in sorted(pathlib.Path(profiles).glob("*.profraw"))]
    subprocess.run(["llvm-profdata", "merge", "-sparse", "-failure-mode=all", "-o", str(merged)] + raw, check=True)
    if files:
        lines_not_run(build, merged, list(files))
    else:
        table(build, merged)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
