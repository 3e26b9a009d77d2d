"""Transformers in plain PyTorch, as people write them: GPT-2 and Llama, with weights of their public configurations."""
import math

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

# name: kind, layers, hidden, heads, key-value heads, feed-forward width, vocabulary, logits share the embedding, parameters
SHAPES = {
    "gpt2": ("gpt", 12, 768, 12, 12, 3072, 50257, True, 124439808),
    "gpt2_medium": ("gpt", 24, 1024, 16, 16, 4096, 50257, True, 354823168),
    "gpt2_xl": ("gpt", 48, 1600, 25, 25, 6400, 50257, True, 1557611200),
    "llama3_2_1b": ("llama", 16, 2048, 32, 8, 8192, 128256, True, 1235814400),
    "llama3_2_3b": ("llama", 28, 3072, 24, 8, 8192, 128256, True, 3212749824),
    "llama2_7b": ("llama", 32, 4096, 32, 32, 11008, 32000, False, 6738415616),
    "tiny_gpt": ("gpt", 2, 64, 2, 2, 256, 1000, True, None),       # only tries the program out
    "tiny_llama": ("llama", 2, 64, 4, 2, 176, 1000, False, None),
}
POSITIONS = 1024  # of GPT-2


class RootMeanSquare(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * y.to(x.dtype)


def rotated(x, cosine, sine):
    half = x.shape[-1] // 2
    return x * cosine + torch.cat((-x[..., half:], x[..., :half]), -1) * sine


class Attention(nn.Module):
    def __init__(self, kind, hidden, heads, kv_heads, fused):
        super().__init__()
        self.heads, self.kv_heads, self.width, self.fused = heads, kv_heads, hidden // heads, fused
        self.inputs = nn.Linear(hidden, (heads + 2 * kv_heads) * self.width, bias=kind == "gpt")
        self.output = nn.Linear(hidden, hidden, bias=kind == "gpt")

    def forward(self, x, rotation):
        batch, length, hidden = x.shape
        parts = self.inputs(x).view(batch, length, self.heads + 2 * self.kv_heads, self.width).transpose(1, 2)
        q, k, v = parts.split((self.heads, self.kv_heads, self.kv_heads), 1)
        if rotation is not None:
            cosine, sine = (part.to(q.dtype) for part in rotation)
            q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        if self.kv_heads < self.heads:
            k, v = (part.repeat_interleave(self.heads // self.kv_heads, 1) for part in (k, v))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(self.width)
            mask = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            y = torch.softmax(scores.masked_fill(mask, float("-inf")), -1).to(v.dtype) @ v
        return self.output(y.transpose(1, 2).reshape(batch, length, hidden))


class Gpt2FeedForward(nn.Module):
    def __init__(self, hidden, width):
        super().__init__()
        self.up, self.down = nn.Linear(hidden, width), nn.Linear(width, hidden)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class LlamaFeedForward(nn.Module):
    def __init__(self, hidden, width):
        super().__init__()
        self.gate, self.up = nn.Linear(hidden, width, bias=False), nn.Linear(hidden, width, bias=False)
        self.down = nn.Linear(width, hidden, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, kind, hidden, heads, kv_heads, width, fused):
        super().__init__()
        norm, feed_forward = (nn.LayerNorm, Gpt2FeedForward) if kind == "gpt" else (RootMeanSquare, LlamaFeedForward)
        self.norm1, self.attention = norm(hidden), Attention(kind, hidden, heads, kv_heads, fused)
        self.norm2, self.feed_forward = norm(hidden), feed_forward(hidden, width)

    def forward(self, x, rotation):
        x = x + self.attention(self.norm1(x), rotation)
        return x + self.feed_forward(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, name, fused=True, recompute=False):
        super().__init__()
        kind, layers, hidden, heads, kv_heads, width, self.vocabulary, tied, parameters = SHAPES[name]
        self.recompute = recompute
        self.tokens = nn.Embedding(self.vocabulary, hidden)
        self.positions = nn.Embedding(POSITIONS, hidden) if kind == "gpt" else None
        self.layers = nn.ModuleList(Layer(kind, hidden, heads, kv_heads, width, fused) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden) if kind == "gpt" else RootMeanSquare(hidden)
        self.logits = nn.Linear(hidden, self.vocabulary, bias=False)
        if tied:
            self.logits.weight = self.tokens.weight
        self.head_width = hidden // heads
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
        counted = sum(p.numel() for p in self.parameters())
        if parameters is not None and counted != parameters:
            raise SystemExit(f"{name} has {counted} parameters, its configuration {parameters}")

    def rotation(self, length, device):
        if self.positions is not None:
            return None
        frequencies = 10000.0 ** (-torch.arange(0, self.head_width, 2, device=device).float() / self.head_width)
        angles = torch.arange(length, device=device).float()[:, None] * frequencies[None]
        angles = torch.cat((angles, angles), -1)
        return angles.cos(), angles.sin()

    def forward(self, tokens):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        rotation = self.rotation(tokens.shape[1], tokens.device)
        for layer in self.layers:
            x = checkpoint(layer, x, rotation, use_reentrant=False) if self.recompute else layer(x, rotation)
        return self.logits(self.norm(x))
