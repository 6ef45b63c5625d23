"""The models of the sample: a transformer encoder that classifies sentences, a small network of convolutions."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    """Self-attention; `padding` is true where there is no token."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, padding):
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.into(x).chunk(3, dim=-1)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.into.in_features / self.heads)
        scores = scores.masked_fill(padding[:, None, None, :], -1e9)
        return self.out(
            (scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(batch, length, width)
        )


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, padding):
        x = x + self.attention(self.before(x), padding)
        return x + self.down(torch.relu(self.up(self.between(x))))


class Encoder(nn.Module):
    """Maps tokens [batch, length], 0 for padding, to logits [batch, classes]."""

    WORDS, CLASSES = 1000, 4

    def __init__(self, width=128, heads=4, layers=4):
        super().__init__()
        self.words = nn.Embedding(self.WORDS, width, padding_idx=0)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.classify = nn.Linear(width, self.CLASSES)

    def forward(self, tokens):
        padding = tokens == 0
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, padding)
        return self.classify(x[:, 0])


class ConvNet(nn.Module):
    """Maps images [batch, 3, 32, 32] to logits [batch, classes]; with batch norm and dropout."""

    CLASSES = 10

    def __init__(self, width=24, blocks=3):
        super().__init__()
        layers, channels = [], 3
        for _ in range(blocks):
            layers += [
                nn.Conv2d(channels, width, 3, padding=1),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Dropout(0.2),
            ]
            channels = width
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classify = nn.Linear(width, self.CLASSES)

    def forward(self, images):
        return self.classify(self.features(images))
