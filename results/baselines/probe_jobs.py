"""The baselines' trainings as lockstep_probe.py asks for them, with optimizer and layout as there:

    python3 calib/torch/lockstep_probe.py results/baselines/probe_jobs.py:resnet50 --autocast bf16 --batches 64,128
"""
import os
import sys

import torch
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import models  # noqa: E402
import transformers_of_torch  # noqa: E402

LENGTH = 1024
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def resnet50():
    torch.backends.cudnn.benchmark = True
    network, shape, classes = models.make("resnet50")
    network = network.to(DEVICE).to(memory_format=torch.channels_last)

    def batch(size):
        images = torch.rand(size, *shape).contiguous(memory_format=torch.channels_last)
        return images, torch.randint(classes, (size,))

    return network, batch, nn.CrossEntropyLoss(), torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)


def gpt2():
    network = transformers_of_torch.Transformer("gpt2").to(DEVICE)
    vocabulary = network.vocabulary

    def batch(size):
        tokens = torch.randint(vocabulary, (size, LENGTH))
        return tokens, tokens

    def loss(logits, targets):
        return nn.functional.cross_entropy(logits.view(-1, vocabulary).float(), targets.view(-1))

    return network, batch, loss, torch.optim.AdamW(network.parameters(), lr=1e-4, fused=DEVICE == "cuda")


def llama():
    """Of 1.2 billion parameters in bf16; sequences of 2048."""
    network = transformers_of_torch.Transformer("llama3_2_1b").bfloat16().to(DEVICE)

    def batch(size):
        tokens = torch.randint(network.vocabulary, (size, 2 * LENGTH))
        return tokens, tokens

    def loss(logits, targets):
        return nn.functional.cross_entropy(logits.view(-1, network.vocabulary).float(), targets.view(-1))

    return network, batch, loss, torch.optim.AdamW(network.parameters(), lr=1e-4, fused=DEVICE == "cuda")
