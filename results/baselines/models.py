"""The networks of Lockstep's zoo that the baselines time, with the same layers, shapes and parameter counts."""
import torch
from torch import nn


class Bottleneck(nn.Module):
    """ResNet v1: the stride is in the first 1x1 convolution."""

    def __init__(self, inputs, width, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


class BasicBlock(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
        self.shortcut = nn.Identity()
        if stride > 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, 4 * width, 2 if stage > 0 and block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def resnet32():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    inputs = 16
    for stage in range(3):
        width = 16 << stage
        for block in range(5):
            layers.append(BasicBlock(inputs, width, 2 if stage > 0 and block == 0 else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AvgPool2d(7, 1), nn.Flatten(), nn.Linear(256, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1024, 1024), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(1024, 10))


# name: (constructor, input shape, classes, parameters as `simulate --show-model` counts them)
MODELS = {
    "resnet50": (resnet50, (3, 224, 224), 1000, 25557032),
    "resnet32": (resnet32, (3, 32, 32), 10, 468826),
    "lenet": (lenet, (1, 28, 28), 10, 1111946),
}


def make(name):
    """The network, its input shape and its classes; refuses one that is not the zoo's."""
    constructor, shape, classes, parameters = MODELS[name]
    torch.manual_seed(1)
    network = constructor()
    counted = sum(p.numel() for p in network.parameters())
    if counted != parameters:
        raise SystemExit(f"{name} has {counted} parameters, the zoo's has {parameters}")
    return network, shape, classes
