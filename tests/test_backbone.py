"""The frozen ViT: cut anywhere it is timm's forward, its fingerprint names what it does, photos become the right pixels."""

import numpy as np
import pytest
import timm
import torch
from PIL import Image

from forget_me_not.models import backbone, neck
from forget_me_not.models.backbone import FrozenViT, create, random_vit
from forget_me_not.models.core import Problem

VARIANTS = [(16, 1.0), (16, None), (14, 1.0), (14, None)]
HALF = (0.5, 0.5, 0.5)


def pixels(vit, n=3, seed=0):
    return torch.randn(n, 3, vit.size, vit.size, generator=torch.Generator().manual_seed(seed))


def distance(a, b):
    return float((a - b).norm() / b.norm())


@pytest.fixture(params=VARIANTS, ids=lambda v: f"patch{v[0]}-scale{v[1]}")
def vit(request):
    return random_vit(patch=request.param[0], layer_scale=request.param[1])


@torch.no_grad()
def test_any_cut_is_timms_forward(vit):
    x = pixels(vit)
    whole = vit.network.forward_head(vit.network.forward_features(x), pre_logits=True)
    for cut in range(vit.depth + 1):
        h = vit.below(x, cut)
        assert h.shape == (3, vit.length, vit.width)
        assert distance(vit.above(h, cut), whole) < 1e-5
    assert distance(vit.encode(x), whole) < 1e-5
    assert distance(vit.between(vit.below(x, 1), 1, 3), vit.below(x, 3)) < 1e-6


@torch.no_grad()
def test_the_neck_comes_last_and_is_the_same_for_all():
    plain = random_vit()
    weight, bias = torch.randn(64, 64), torch.randn(64)
    necked = FrozenViT(plain.network, "necked", HALF, HALF, (weight, bias))
    x = pixels(plain)
    z = plain.encode(x)
    assert torch.equal(plain.neck_of(z), z)
    assert distance(necked.encode(x), z @ weight.T + bias) < 1e-5
    assert torch.equal(necked.above(necked.below(x, 1), 1), plain.above(plain.below(x, 1), 1))
    assert distance(necked.features(necked.below(x, 1), 1), necked.encode(x)) < 1e-5


def test_the_fingerprint_names_all_that_makes_a_feature():
    prints = {"": random_vit().fingerprint}
    assert random_vit().fingerprint == prints[""]
    prints["seed"] = random_vit(seed=1).fingerprint
    prints["size"] = random_vit(size=48).fingerprint
    prints["scale"] = random_vit(layer_scale=None).fingerprint
    network = random_vit().network
    with torch.no_grad():
        network.blocks[1].mlp.fc2.bias[7] += 1e-7
    prints["one weight"] = FrozenViT(network, "x", HALF, HALF).fingerprint
    network = random_vit().network
    prints["pixels"] = FrozenViT(network, "x", (0.4, 0.5, 0.5), HALF).fingerprint
    weight, bias = torch.eye(64), torch.zeros(64)
    prints["neck"] = FrozenViT(network, "x", HALF, HALF, (weight, bias)).fingerprint
    prints["neck bias"] = FrozenViT(network, "x", HALF, HALF, (weight, bias + 1e-7)).fingerprint
    assert len(set(prints.values())) == len(prints)
    assert FrozenViT(network, "another name", HALF, HALF).fingerprint == prints[""]


def test_it_is_frozen():
    vit = random_vit()
    assert not vit.network.training
    assert not any(p.requires_grad for p in vit.network.parameters())


def test_making_one_draws_nothing_globally():
    before = torch.get_rng_state()
    random_vit(seed=3)
    assert torch.equal(before, torch.get_rng_state())


# Photos to pixels


def ramp(width, height):
    """Red grows from left to right, green from top to bottom."""
    x = np.zeros((height, width, 3), np.uint8)
    x[..., 0] = np.linspace(0, 255, width)[None]
    x[..., 1] = np.linspace(0, 255, height)[:, None]
    return Image.fromarray(x)


@pytest.mark.parametrize(("width", "height"), [(100, 40), (40, 100), (37, 37), (20, 9), (1000, 33)])
def test_preprocessing_crops_the_centre(width, height):
    vit = random_vit()
    red, green, blue = vit.preprocess(ramp(width, height))
    assert red.shape == (vit.size, vit.size)
    assert blue.eq(-1).all()  # (0 - 0.5) / 0.5
    short = min(width, height)
    for channel, side, axis in ((red, width, 1), (green, height, 0)):
        line = channel.mean(1 - axis) / 2 + 0.5  # mean of the other axis, back in [0, 1]
        share = short / side  # of the ramp that stays
        assert line[0] == pytest.approx((1 - share) / 2, abs=0.05)
        assert line[-1] == pytest.approx((1 + share) / 2, abs=0.05)
        assert (line.diff() >= -0.01).all()


def test_preprocessing_is_torchvisions():
    """Short side to S (bicubic, antialiased), centre crop, mean and deviation: torchvision's test transform on a PIL image."""
    from torchvision.transforms import v2

    vit = random_vit()
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (90, 96, 3), np.uint8))
    transform = v2.Compose([v2.Resize(vit.size, v2.InterpolationMode.BICUBIC), v2.CenterCrop(vit.size), v2.ToImage(),
                            v2.ToDtype(torch.float32, scale=True), v2.Normalize(vit.mean, vit.std)])  # fmt: skip
    assert torch.allclose(vit.preprocess(image), transform(image), atol=1e-5)


def test_views_are_drawn_from_the_photo_alone():
    vit, image = random_vit(), ramp(80, 60)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    first = vit.preprocess(image, 1, "a")
    assert torch.equal(first, vit.preprocess(image, 1, "a"))
    assert first.shape == (3, vit.size, vit.size)
    views = [vit.preprocess(image, v, k) for v in range(1, 9) for k in "ab"]
    assert len({v.numpy().tobytes() for v in views}) == 16
    flips = [bool(v[0, :, 0].mean() > v[0, :, -1].mean()) for v in views]
    assert 0 < sum(flips) < 16
    assert torch.equal(vit.preprocess(image, 0, "a"), vit.preprocess(image, 0, "b"))
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])


# What is refused


def network(**changes):
    facts = {"img_size": 32, "patch_size": 16, "embed_dim": 64, "depth": 2, "num_heads": 4, "num_classes": 0, **changes}
    return timm.models.VisionTransformer(**facts)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"block_fn": timm.models.vision_transformer.ParallelScalingBlock}, "norm1"),
        ({"global_pool": "avg"}, "[CLS] pooling"),
        ({"reg_tokens": 2}, "[CLS] pooling"),
        ({"block_fn": timm.models.vision_transformer.ResPostBlock, "init_values": 1.0}, "forward"),
        ({"mlp_layer": timm.layers.GluMlp}, "forward"),
    ],
    ids=["parallel block", "mean pooled", "registers", "norm after the branch", "gated mlp"],
)
def test_another_network_is_refused_with_its_reason(changes, part):
    with pytest.raises(Problem, match="backbone_unknown_block") as caught:
        FrozenViT(network(**changes), "other", HALF, HALF)
    assert caught.value.values["name"] == "other"
    assert caught.value.values["part"].startswith(part)


def test_a_network_that_norms_its_queries_is_welcome():
    vit = FrozenViT(network(qk_norm=True), "normed", HALF, HALF)
    x = pixels(vit)
    with torch.no_grad():
        assert distance(vit.encode(x), vit.network(x)) < 1e-5


@pytest.mark.parametrize(
    ("name", "size", "near"), [("starter", 100, 98), ("vit_b", 113, 112), ("starter", 14, 28), ("starter", 10, 28)]
)
def test_sizes_that_do_not_fit_name_one_that_does(name, size, near):
    with pytest.raises(Problem, match="size_bad") as caught:
        create(name, size=size)
    assert caught.value.values["size"] == size
    assert caught.value.values["near"] == near


def test_an_unknown_backbone_names_those_there_are():
    with pytest.raises(Problem, match="backbone_unknown") as caught:
        create("vit_huge")
    assert "starter" in caught.value.values["known"]


def test_the_papers_backbones_are_timms_with_our_block():
    """Every name we offer is an architecture timm knows, with a published tag."""
    for origin in backbone.BACKBONES.values():
        assert timm.is_model(origin.architecture)
        if origin.hub:
            assert timm.models.get_pretrained_cfg(f"{origin.architecture}.{origin.hub}").tag == origin.hub


# The neck


def test_the_neck_whitens_but_does_not_explode():
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(500, 8, generator=rng) @ torch.randn(8, 8, generator=rng) + 3
    weight, bias = neck.fit(x, shrink=1e-6)
    z = x @ weight.T + bias
    assert torch.allclose(z.mean(0), torch.zeros(8), atol=1e-4)
    assert torch.allclose(z.T @ z / len(z), torch.eye(8), atol=1e-2)
    flat = torch.cat([x, torch.zeros(500, 1)], 1)  # a direction without any spread
    weight, _ = neck.fit(flat)
    w = torch.linalg.eigvalsh((flat - flat.mean(0)).double().T @ (flat - flat.mean(0)).double() / 500)
    assert float(torch.linalg.eigvalsh(weight.double()).max()) == pytest.approx(float((0.1 * w.mean()) ** -0.5), rel=1e-3)


# The starter on real photos


@pytest.mark.photos
@pytest.mark.starter
def test_prototypes_of_caltech_reach_their_level(real_photos):
    """SimpleCIL, 20 training and 10 test photos a class, 112 px: at least .865 on average over the splits of 20 seeds."""
    from forget_me_not.models import images
    from forget_me_not.models.encoder import Encoder, FeatureTable
    from forget_me_not.models.engine import run
    from forget_me_not.models.methods.simplecil import SimpleCIL
    from forget_me_not.models.stream import build, plan

    vit = create("starter", device="cpu")
    assert (vit.width, vit.depth, vit.length) == (384, 12, 65)
    found = images.read([real_photos / "caltech24"])
    table = FeatureTable(Encoder(vit, found).get(torch.arange(len(found)), -1))
    labels, groups = [p.label for p in found.photos], [p.group for p in found.photos]
    accuracy = []
    for seed in range(1, 21):
        planned = plan(labels, groups, per_task=4, seed=seed, train_per_class=20, test_per_class=10)
        *_, finished = (e for e in run(build(planned, table), SimpleCIL(table.vit), seed=seed) if e)
        accuracy.append(finished.metrics["last_accuracy"])
    assert sum(accuracy) / 20 >= 0.865
    assert len(set(accuracy)) > 5
