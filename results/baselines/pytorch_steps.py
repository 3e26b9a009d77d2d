"""Training steps of PyTorch, timed as build/bench_cuda times Lockstep's: a line of JSON per configuration.

    python3 results/baselines/pytorch_steps.py --model resnet50 --batch 64,256 --precision bf16,tf32 --mode eager,compile

SGD with momentum 0.9; channels_last and cudnn.benchmark; bf16 and fp16 by autocast (fp16 with a fixed loss scale of
128), parameters float. Modes: eager; compile, torch.compile; graphs, torch.compile(mode="reduce-overhead"), which
replays CUDA graphs. --input device leaves the images on the GPU in the network's layout; host copies them from pinned
memory in every step, as Lockstep does. The median of ten windows after a warm-up, the device idle at both ends of each.
"""
import argparse
import json
import statistics
import sys
import time

import torch
from torch import nn

import models

WINDOWS = 10
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def words(text):
    return text.split(",")


def numbers(text):
    return [int(word) for word in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet50", choices=sorted(models.MODELS))
    parser.add_argument("--batch", default=[64], type=numbers)
    parser.add_argument("--precision", default=["fp32"], type=words)
    parser.add_argument("--mode", default=["eager"], type=words)
    parser.add_argument("--input", default=["device"], type=words)
    parser.add_argument("--seconds", default=5.0, type=float)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu only tries the program out")
    return parser.parse_args()


def synchronise(device):
    if device == "cuda":
        torch.cuda.synchronize()


class Training:
    def __init__(self, options, batch, precision, mode, source):
        self.device, self.source = options.device, source
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        network, shape, classes = models.make(options.model)
        self.network = network.to(self.device).to(memory_format=torch.channels_last).train()
        self.optimiser = torch.optim.SGD(self.network.parameters(), lr=1e-3, momentum=0.9)
        self.half = HALF.get(precision)
        self.scale = 128.0 if precision == "fp16" else 1.0
        self.loss_of = nn.CrossEntropyLoss()
        self.batches = [self.make_batch(batch, shape, classes) for _ in range(2)]
        self.forward = self.forward_loss
        if mode != "eager":
            torch.compiler.reset()
            self.forward = torch.compile(self.forward_loss, mode="reduce-overhead" if mode == "graphs" else None)
        self.count = 0
        self.loss = None

    def make_batch(self, batch, shape, classes):
        images = (3.4 * torch.rand(batch, *shape) - 1.7).contiguous(memory_format=torch.channels_last)
        labels = torch.randint(classes, (batch,))
        if self.source == "device":
            return images.to(self.device), labels.to(self.device)
        if self.device == "cuda":
            return images.pin_memory(), labels.pin_memory()
        return images, labels

    def forward_loss(self, images, labels):
        with torch.autocast(self.device, dtype=self.half or torch.bfloat16, enabled=self.half is not None):
            return self.loss_of(self.network(images), labels)

    def step(self):
        images, labels = self.batches[self.count % 2]
        self.count += 1
        if self.source == "host":
            images = images.to(self.device, non_blocking=True)
            labels = labels.to(self.device, non_blocking=True)
        self.optimiser.zero_grad(set_to_none=True)
        self.loss = self.forward(images, labels)
        (self.loss * self.scale).backward()
        if self.scale != 1.0:
            for parameter in self.network.parameters():
                parameter.grad.div_(self.scale)
        self.optimiser.step()

    def seconds_of(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        synchronise(self.device)
        return time.perf_counter() - start


def measure(options, batch, precision, mode, source):
    start = time.perf_counter()
    training = Training(options, batch, precision, mode, source)
    training.seconds_of(5)  # compiles, and lets cuDNN choose
    setup_s = time.perf_counter() - start
    window_s = options.seconds / WINDOWS
    steps, warm_up_steps = 1, 5
    while True:
        seconds = training.seconds_of(steps)
        warm_up_steps += steps
        if seconds >= window_s:
            break
        steps = max(steps + 1, int(min(4.0, 1.1 * window_s / seconds) * steps))
    rates = [batch * steps / training.seconds_of(steps) for _ in range(WINDOWS)]
    loss = training.loss.item()
    median = statistics.median(rates)
    return {
        "images_per_s": {"median": median, "low": min(rates), "high": max(rates), "samples": rates},
        "step_s": batch / median, "steps_per_window": steps, "warm_up_steps": warm_up_steps, "setup_s": setup_s,
        "memory_bytes": torch.cuda.max_memory_allocated() if options.device == "cuda" else None,
        "loss": loss if loss == loss and abs(loss) != float("inf") else "not finite"}


def device_name(device):
    if device == "cpu":
        return "cpu"
    return (f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}")


def report(options, batch, precision, mode, source):
    line = {"schema": "lockstep/bench/1", "program": f"PyTorch {torch.__version__}",
            "device": device_name(options.device), "model": options.model, "algorithm": "sgd", "mode": mode,
            "input": source, "precision": precision, "batch": batch, "learners_per_gpu": 1, "gpus": 1}
    try:
        line.update(measure(options, batch, precision, mode, source))
    except Exception as error:  # memory, or a compiler that is not there: the other configurations go on
        line["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
    if options.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    print(json.dumps(line), flush=True)
    return "error" not in line


def main():
    options = arguments()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("PyTorch sees no GPU", file=sys.stderr)
        return 1
    done = [report(options, batch, precision, mode, source)
            for precision in options.precision for mode in options.mode for source in options.input
            for batch in options.batch]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
