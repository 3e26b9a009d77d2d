"""Training steps of transformers in PyTorch on one GPU: a line of JSON per configuration, as pytorch_steps.py writes it.

    python3 results/baselines/pytorch_transformers.py CONFIGURATION...
    CONFIGURATION: NAME:SEQUENCE:BATCH[:WORD...], such as gpt2:1024:16:amp or llama3_2_1b:4096:2:compile:recompute

NAME is one of transformers_of_torch.py, or hf-NAME for the same shape by HuggingFace's transformers. Words: amp, parameters
float and bf16 by autocast; tf32; without either parameters, gradients and AdamW's state in bf16. unfused, attention
by products and a softmax, not by scaled_dot_product_attention. compile, torch.compile. recompute, checkpoints of every
layer. host, PyTorch's own CPU device, which only tries the program out.

AdamW (fused), the same random tokens in every step, the loss over all positions in float. The median of ten windows
after a warm-up of five steps, the device idle at both ends of each.
"""
import contextlib
import gc
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

from transformers_of_torch import SHAPES, Transformer

WINDOWS = 10
WINDOW_S = 0.25
WORDS = ("amp", "tf32", "unfused", "compile", "recompute", "host")


def hugging_face(name, words):
    import transformers
    kind, layers, hidden, heads, kv_heads, width, vocabulary, tied, _ = SHAPES[name]
    if kind == "gpt":
        shape = dict(n_layer=layers, n_embd=hidden, n_head=heads, vocab_size=vocabulary,
                     resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    else:
        shape = dict(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                     num_key_value_heads=kv_heads, intermediate_size=width, vocab_size=vocabulary,
                     tie_word_embeddings=tied, max_position_embeddings=8192)
    config = transformers.AutoConfig.for_model("gpt2" if kind == "gpt" else "llama", use_cache=False, **shape)
    network = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager" if "unfused" in words else "sdpa")
    if "recompute" in words:
        network.gradient_checkpointing_enable()
    return network, f"transformers {transformers.__version__}"


class Training:
    def __init__(self, name, length, batch, words):
        self.device = "cpu" if "host" in words else "cuda"
        self.amp = "amp" in words
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.manual_seed(1)
        self.library = None
        with torch.device(self.device) if self.device == "cuda" else contextlib.nullcontext():
            if name.startswith("hf-"):
                self.network, self.library = hugging_face(name[3:], words)
            else:
                self.network = Transformer(name, "unfused" not in words, "recompute" in words)
        if not self.amp and "tf32" not in words:
            self.network = self.network.bfloat16()
        self.network = self.network.to(self.device).train()
        self.optimiser = torch.optim.AdamW(self.network.parameters(), lr=1e-4, fused=True) \
            if self.device == "cuda" else torch.optim.AdamW(self.network.parameters(), lr=1e-4)
        self.vocabulary = SHAPES[name[3:] if name.startswith("hf-") else name][6]
        self.tokens = torch.randint(self.vocabulary, (batch, length), device=self.device)
        self.forward = torch.compile(self.loss_of) if "compile" in words else self.loss_of
        self.loss = None

    def loss_of(self, tokens):
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.amp):
            if self.library is not None:
                return self.network(input_ids=tokens, labels=tokens).loss
            logits = self.network(tokens)
            return F.cross_entropy(logits.view(-1, self.vocabulary).float(), tokens.view(-1))

    def step(self):
        self.optimiser.zero_grad(set_to_none=True)
        self.loss = self.forward(self.tokens)
        self.loss.backward()
        self.optimiser.step()

    def seconds_of(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start


def measure(name, length, batch, words):
    start = time.perf_counter()
    training = Training(name, length, batch, words)
    training.seconds_of(5)
    setup_s = time.perf_counter() - start
    if training.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    steps = max(1, round(WINDOW_S / training.seconds_of(1)))
    times = [training.seconds_of(steps) / steps for _ in range(WINDOWS)]
    step_s = statistics.median(times)
    return {
        "library": training.library, "step_s": step_s, "step_low_s": min(times), "step_high_s": max(times), "samples": times,
        "steps_per_window": steps, "tokens_per_s": batch * length / step_s, "samples_per_s": batch / step_s,
        "setup_s": setup_s, "memory_bytes": torch.cuda.max_memory_allocated() if training.device == "cuda" else None,
        "reserved_bytes": torch.cuda.memory_reserved() if training.device == "cuda" else None,
        "loss": training.loss.item()}


def report(configuration):
    name, length, batch, *words = configuration.split(":")
    for word in words:
        if word not in WORDS:
            raise SystemExit(f"{configuration}: {word}; allowed: {', '.join(WORDS)}")
    cuda = "host" not in words
    line = {"schema": "lockstep/bench/1", "program": f"PyTorch {torch.__version__}",
            "device": f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}" if cuda else "cpu",
            "configuration": configuration, "model": name, "sequence": int(length), "batch": int(batch), "words": words}
    try:
        line.update(measure(name, int(length), int(batch), words))
    except Exception as error:  # memory, or a library that is not there: the other configurations go on
        line["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:400]
    if cuda:
        gc.collect()
        torch.cuda.empty_cache()
    print(json.dumps(line), flush=True)
    return "error" not in line


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 2
    return 0 if all([report(configuration) for configuration in sys.argv[1:]]) else 1


if __name__ == "__main__":
    sys.exit(main())
