"""Photos drawn from their numbers that count how often they are opened, and encoders over them."""

import hashlib
from pathlib import Path

import torch
from PIL import Image

from forget_me_not.models.edit import Edit
from forget_me_not.models.encoder import Encoder
from forget_me_not.models.images import ImageSet


class Drawn:
    """A photo drawn from its number; counts how often it is opened."""

    def __init__(self, number):
        self.number, self.opened = number, 0
        self.sha = hashlib.sha256(b"%d" % number).hexdigest()

    def open(self):
        self.opened += 1
        pixels = torch.randint(0, 256, (40, 48, 3), generator=torch.Generator().manual_seed(self.number), dtype=torch.uint8)
        return Image.fromarray(pixels.numpy())


class Shift(Edit):
    """Adds a number to the first MLP bias of its block."""

    def __init__(self, amount, key, first=1):
        self.amount, self.key, self.first = amount, key, first

    def weight(self, block, name, w):
        return w + self.amount if block == self.first and name == "mlp.fc1.bias" else w


def drawn(n):
    return [Drawn(i) for i in range(n)]


def encoder_of(vit, photos, *args, **kwargs):
    return Encoder(vit, ImageSet(tuple(photos), ()), *args, **kwargs)


def drain(iterator):
    return list(iterator)


def shas(*numbers):
    return [hashlib.sha256(b"%d" % n).hexdigest() for n in numbers]


def shards(folder):
    return sorted(Path(folder).glob("*/*.safetensors"))
