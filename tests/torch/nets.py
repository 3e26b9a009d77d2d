"""Jobs for the tests of the probe, and the networks of the zoo as PyTorch writes them."""
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    """A basic residual block; the sum is a function, the ReLU is called twice and in place."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or inputs != outputs:
            self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


class ResNetOfBasicBlocks(nn.Module):
    def __init__(self, stem, widths, blocks, classes):
        super().__init__()
        self.stem, layers, inputs = stem, [], widths[0]
        for stage, (width, count) in enumerate(zip(widths, blocks)):
            for block in range(count):
                layers.append(Block(inputs, width, 2 if stage > 0 and block == 0 else 1))
                inputs = width
        self.blocks = nn.Sequential(*layers)
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


def resnet_cifar(blocks):
    stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
    return ResNetOfBasicBlocks(stem, (16, 32, 64), (blocks,) * 3, 10)


def resnet18():
    stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                         nn.MaxPool2d(3, 2, 1))
    return ResNetOfBasicBlocks(stem, (64, 128, 256, 512), (2, 2, 2, 2), 1000)


def vgg(widths, classifier):
    layers, inputs = [], 3
    for width in widths:
        if width == "pool":
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU(inplace=True)]
            inputs = width
    return nn.Sequential(*layers, nn.Flatten(), *classifier)


def vgg16():
    widths = [64, 64, "pool", 128, 128, "pool"] + [256] * 3 + ["pool"] + [512] * 3 + ["pool"] + [512] * 3 + ["pool"]
    head = [nn.Linear(512 * 49, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(),
            nn.Linear(4096, 1000)]
    return vgg(widths, head)


def vgg11_small():
    """VGG-11 on 32x32."""
    widths = [64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool"]
    return vgg(widths, [nn.Linear(512, 512), nn.ReLU(True), nn.Linear(512, 512), nn.ReLU(True), nn.Linear(512, 10)])


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        width, layers = inputs * expansion, []
        if expansion > 1:
            layers += [nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(width, width, 3, stride, 1, groups=width, bias=False), nn.BatchNorm2d(width),
                   nn.ReLU6(inplace=True), nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.body, self.is_residual = nn.Sequential(*layers), stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.is_residual else self.body(x)


def mobilenet_v2():
    def stem(inputs, outputs, kernel, stride):
        return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs),
                nn.ReLU6(inplace=True)]

    layers, inputs = stem(3, 32, 3, 2), 32
    for expansion, width, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                            (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(count):
            layers.append(InvertedResidual(inputs, width, stride if block == 0 else 1, expansion))
            inputs = width
    return nn.Sequential(*layers, *stem(320, 1280, 1, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                         nn.Linear(1280, 1000))


class VisionBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """ViT-B/16."""

    def __init__(self, width=768, heads=12, layers=12):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first, self.positions = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, 197, width))
        self.blocks = nn.Sequential(*[VisionBlock(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        samples, tokens, width = x.shape
        q, k, v = [part.view(samples, tokens, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(width, 2)]
        scores = (q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(torch.ones(tokens, tokens).tril()[None, None] == 0, float("-inf")).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(samples, tokens, width))


class TransformerBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """A small GPT whose output matrix is that of its embedding."""

    def __init__(self, words=512, tokens=64, width=128, layers=4, heads=4):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*[TransformerBlock(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class SmallTransformer(nn.Module):
    """Of PyTorch's own modules: attention whose output layer is never called as a module."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


class Checkpointed(nn.Module):
    def __init__(self, is_reentrant):
        super().__init__()
        self.first, self.last, self.is_reentrant = nn.Linear(64, 64), nn.Linear(64, 10), is_reentrant
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint
        return self.last(checkpoint(self.body, self.first(x), use_reentrant=self.is_reentrant))


def images(side=32, classes=10):
    return lambda size: (torch.randn(size, 3, side, side), torch.randint(0, classes, (size,)))


def classifier_job(model, side=32, classes=10):
    return model, images(side, classes), nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)


def build():
    """A network of a few milliseconds."""
    return classifier_job(resnet_cifar(1), side=16)


def resnet20():
    return classifier_job(resnet_cifar(3))


def vgg11():
    return classifier_job(vgg11_small())


def gpt(**sizes):
    model = Gpt(**sizes)
    words, tokens = model.head.out_features, model.positions.num_embeddings

    def batch(size):
        text = torch.randint(0, words, (size, tokens + 1))
        return text[:, :-1], text[:, 1:]

    def loss(out, targets):
        return F.cross_entropy(out.reshape(-1, words), targets.reshape(-1))

    return model, batch, loss, torch.optim.AdamW(model.parameters(), 1e-3)


def unlucky():
    raise RuntimeError("no such GPU")
