"""Single kernels of PyTorch on one GPU, the parts that a transformer's step is made of: a line of JSON each.

    python3 results/baselines/pytorch_products.py [host] [bf16|fp16|tf32 ...]

`what` is product (a matrix of rows x inner times one of inner x columns), attention (causal, forward and backward),
norm, loss (softmax and cross entropy in float), add, copy or adamw; `flop` and `bytes` are counted from the shapes, each
array read or written once, `seconds` is the median of several windows on a GPU that is kept busy.
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

WINDOWS = 5
WINDOW_S = 0.02
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}
# rows, inner, columns: tokens times weights, from GPT-2 to 70 billion parameters; what batches of few rows do
PRODUCTS = [(16384, 768, 768), (16384, 768, 2304), (16384, 768, 3072), (16384, 3072, 768), (8192, 1024, 4096),
            (4096, 1600, 6400), (8192, 2048, 2048), (8192, 2048, 8192), (8192, 8192, 2048), (4096, 4096, 4096),
            (4096, 4096, 11008), (8192, 8192, 8192), (8192, 8192, 28672), (4096, 1024, 1024), (2048, 1024, 1024),
            (1024, 1024, 1024), (512, 1024, 1024), (256, 4096, 4096), (1024, 4096, 4096), (2048, 4096, 4096)]
# Classes and vocabularies whose rows lie on 2, 4, 8, 16 and 128 bytes.
VOCABULARIES = [50257, 50258, 50260, 50264, 50304, 30522, 30528, 32000, 128256]
ATTENTION = [(16, 12, 1024, 64), (8, 16, 1024, 64), (2, 32, 4096, 64), (1, 32, 4096, 128), (1, 32, 8192, 128),
             (64, 12, 256, 64), (4, 25, 1024, 64), (32, 16, 512, 64)]


class Timer:
    def __init__(self, device):
        self.device = device

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds_of(self, work, calls):
        self.wait()
        start = time.perf_counter()
        for _ in range(calls):
            work()
        self.wait()
        return (time.perf_counter() - start) / calls

    def __call__(self, work):
        self.seconds_of(work, 3)
        calls = max(3, min(2000, int(WINDOW_S / self.seconds_of(work, 2))))
        return statistics.median(self.seconds_of(work, calls) for _ in range(WINDOWS))


def cases(device, name):
    """(what, shape, work, flop, bytes) in turn."""
    kind, size = TYPES[name], 4 if name == "tf32" else 2
    make = dict(device=device, dtype=kind)
    for rows, inner, columns in PRODUCTS + [(8192, 768, vocabulary) for vocabulary in VOCABULARIES]:
        x, w, y = (torch.randn(shape, **make) for shape in ((rows, inner), (columns, inner), (rows, columns)))
        shape = dict(rows=rows, inner=inner, columns=columns)
        flop, moved = 2 * rows * inner * columns, size * (rows * inner + inner * columns + rows * columns)
        yield "product", dict(shape, of="output"), lambda: F.linear(x, w), flop, moved
        yield "product", dict(shape, of="input gradient"), lambda: y @ w, flop, moved
        yield "product", dict(shape, of="weight gradient"), lambda: y.t() @ x, flop, moved
    if name == "tf32":
        return
    for batch, heads, length, width in ATTENTION:
        q, k, v, dy = (torch.randn(batch, heads, length, width, **make) for _ in range(4))
        shape = dict(batch=batch, heads=heads, length=length, width=width)
        flop, moved = 2 * batch * heads * length * length * width, 4 * size * q.numel()  # half of the scores are seen
        yield "attention", dict(shape, of="output"), \
            lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True), flop, moved
        q, k, v = (part.requires_grad_() for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        yield "attention", dict(shape, of="gradients"), \
            lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True), 2.5 * flop, 2 * moved
    for rows, hidden in ((16384, 768), (8192, 2048), (4096, 4096), (8192, 8192)):
        x, dy = (torch.randn(rows, hidden, **make) for _ in range(2))
        other = torch.randn(rows, hidden, **make)
        weight = torch.ones(hidden, **make)
        shape, once = dict(rows=rows, hidden=hidden), size * rows * hidden
        yield "add", shape, lambda: x + other, 0, 3 * once
        yield "copy", dict(shape, to="float"), lambda: x.float(), 0, once + 4 * rows * hidden
        yield "gelu", shape, lambda: F.gelu(x), 0, 2 * once
        yield "norm", dict(shape, of="output"), lambda: F.layer_norm(x, (hidden,), weight, weight), 0, 2 * once
        x, weight = x.requires_grad_(), weight.requires_grad_()
        y = F.layer_norm(x, (hidden,), weight, weight)
        yield "norm", dict(shape, of="gradients"), \
            lambda: torch.autograd.grad(y, (x, weight), dy, retain_graph=True), 0, 3 * once
    for vocabulary in (50257, 50304, 128256):
        logits = torch.randn(8192, vocabulary, **make, requires_grad=True)
        targets = torch.randint(vocabulary, (8192,), device=device)
        shape, once = dict(rows=8192, columns=vocabulary), size * 8192 * vocabulary
        yield "loss", dict(shape, of="output"), lambda: F.cross_entropy(logits.float(), targets), 0, once
        loss = F.cross_entropy(logits.float(), targets)
        yield "loss", dict(shape, of="gradients"), \
            lambda: torch.autograd.grad(loss, logits, retain_graph=True), 0, once
    for elements, tensors in ((124_000_000, 148), (1_236_000_000, 146)):
        weights = [torch.randn(elements // tensors, **make, requires_grad=True) for _ in range(tensors)]
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        optimiser = torch.optim.AdamW(weights, lr=1e-4, **({"fused": True} if device == "cuda" else {}))
        yield "adamw", dict(elements=elements, tensors=tensors), optimiser.step, 0, 7 * size * elements


def main():
    words = sys.argv[1:]
    device = "cpu" if "host" in words else "cuda"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.manual_seed(1)
    timer = Timer(device)
    for name in [word for word in words if word in TYPES] or ["bf16"]:
        for what, shape, work, flop, moved in cases(device, name):
            line = {"what": what, **shape, "precision": name, "flop": flop, "bytes": moved}
            try:
                line["seconds"] = timer(work)
            except Exception as error:  # memory: the others go on
                line["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            print(json.dumps(line), flush=True)
    if device == "cuda":
        print(json.dumps({"device": torch.cuda.get_device_name(), "program": f"PyTorch {torch.__version__}",
                          "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
