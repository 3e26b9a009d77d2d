"""Copies of PyTorch, timed as `calibrate` times Lockstep's: a line of JSON per direction and size.

    python3 results/baselines/pytorch_copies.py --sizes 16777216,67108864 --seconds 1

Pinned and ordinary memory of the host to the GPU and back, and within the GPU. Each copy is waited for where one end is
the host's, as in `calibrate`; within the GPU they follow one another, repeated so that a sample lasts a millisecond. The
median of all samples, the device idle at both ends of each.
"""
import argparse
import json
import statistics
import time

import torch

SHORTEST_S = 1e-3
LEAST = 11


def synchronise(device):
    if device == "cuda":
        torch.cuda.synchronize()


def seconds_of(copy, device, repeats):
    synchronise(device)
    began = time.perf_counter()
    for _ in range(repeats):
        copy()
    synchronise(device)
    return (time.perf_counter() - began) / repeats


def median_s(copy, device, limit_s):
    repeats = 1
    while seconds_of(copy, device, repeats) * repeats < SHORTEST_S and repeats < 10000:
        repeats *= 2
    samples, until = [], time.perf_counter() + limit_s
    while len(samples) < LEAST or time.perf_counter() < until:
        samples.append(seconds_of(copy, device, repeats))
    return statistics.median(samples)


def copies(elements, device):
    """(from, to, memory, copy) of float vectors."""
    on_device = torch.ones(elements, device=device)
    for memory in ("pageable", "pinned") if device == "cuda" else ("pageable",):
        host = torch.ones(elements)
        if memory == "pinned":
            host = host.pin_memory()

        def up(host=host):
            on_device.copy_(host, non_blocking=True)
            synchronise(device)

        def down(host=host):
            host.copy_(on_device, non_blocking=True)
            synchronise(device)

        yield "host", "gpu0", memory, up
        yield "gpu0", "host", memory, down
    other = torch.empty_like(on_device)
    yield "gpu0", "gpu0", "device", lambda: other.copy_(on_device)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="65536,1048576,16777216,67108864")
    parser.add_argument("--seconds", default=1.0, type=float, help="of each direction and size")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu only tries the program out")
    options = parser.parse_args()
    for size in (int(word) for word in options.sizes.split(",")):
        for source, target, memory, copy in copies(size // 4, options.device):
            seconds = median_s(copy, options.device, options.seconds)
            line = {"schema": "lockstep/bench/1", "program": "pytorch_copies", "torch": torch.__version__,
                    "from": source, "to": target, "memory": memory, "bytes": size // 4 * 4, "seconds": seconds,
                    "bytes_per_s": size // 4 * 4 / seconds}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
