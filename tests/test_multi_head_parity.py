"""One layer, many ways to compute it: ours, loop, einsum, NumPy and both of PyTorch's.

Sizes are all different, masks of every kind, forward and gradients, on the CPU and on a GPU if
there is one.
"""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook import numpy_attention as na
from attnbook import torch_attention as ta
from attnbook.device import turn_off_tf32
from attnbook.exercises.ch09_multi_head_attention import from_module_state
from attnbook.exercises.ch09_multi_head_attention import multi_head_attention as written_out

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 6e-2}
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
KINDS_FOR = (2, 5, 3)  # batch, n, n_heads; with d_model = 12 and d_k = 4 no two are equal


def layer_masks(batch, n, n_heads):
    """Masks without empty rows, in which PyTorch's two implementations differ."""
    rng = np.random.default_rng(0)
    lengths = 1 + np.arange(batch) % n
    padding = na.padding_mask(lengths, n)[:, None, :]
    return {
        "none": None,
        "causal": na.causal_mask(n),
        "padding": padding,
        "causal and padding": padding & na.causal_mask(n),
        "per example": (rng.random((batch, n, n)) < 0.5) | np.eye(n, dtype=bool),
        "per example and head": (rng.random((batch, n_heads, n, n)) < 0.5) | np.eye(n, dtype=bool),
    }


def layer(d_model, n_heads, seed, dtype, device="cpu"):
    """nn.MultiheadAttention with random biases, and ours with its weights."""
    torch.manual_seed(seed)
    theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
    nn.init.normal_(theirs.in_proj_bias)
    nn.init.normal_(theirs.out_proj.bias)
    ours = ta.MultiHeadSelfAttention(d_model, n_heads)
    ours.load_state_dict(
        from_module_state(
            theirs.in_proj_weight.detach(),
            theirs.in_proj_bias.detach(),
            theirs.out_proj.weight.detach(),
            theirs.out_proj.bias.detach(),
        )
    )
    return ours.to(device, dtype), theirs.to(device, dtype)


def layer_by_loop(ours, theirs, x, mask):
    mask = ta.per_head_mask(mask, x)
    d_k = x.shape[-1] // ours.n_heads
    parts = []
    for h in range(ours.n_heads):
        own = slice(h * d_k, (h + 1) * d_k)
        query, key, value = (w(x)[..., own] for w in (ours.w_q, ours.w_k, ours.w_v))
        scores = query @ key.mT / math.sqrt(d_k)
        if mask is not None:
            per_head = mask if mask.shape[-3] == 1 else mask[..., h : h + 1, :, :]
            scores = scores.masked_fill(~per_head.squeeze(-3), -math.inf)
        parts.append(scores.softmax(-1) @ value)
    return ours.w_o(torch.cat(parts, -1))


def layer_by_einsum(ours, theirs, x, mask):
    q, k, v = (w(x).unflatten(-1, (ours.n_heads, -1)) for w in (ours.w_q, ours.w_k, ours.w_v))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~ta.per_head_mask(mask, x), -math.inf)
    return ours.w_o(torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).flatten(2))


def layer_by_matmul(ours, theirs, x, mask):
    return ours(x, mask)


def layer_by_sdpa(ours, theirs, x, mask):
    q, k, v = (ta.split_heads(w(x), ours.n_heads) for w in (ours.w_q, ours.w_k, ours.w_v))
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=ta.per_head_mask(mask, x))
    return ours.w_o(ta.merge_heads(output))


def layer_by_the_library(ours, theirs, x, mask):
    hidden = None
    if mask is not None:
        batch, n, _ = x.shape
        full = ta.per_head_mask(mask, x).expand(batch, ours.n_heads, n, n)
        hidden = ~full.reshape(-1, n, n)
    return theirs(x, x, x, attn_mask=hidden, need_weights=False)[0]


WAYS = {
    "loop": layer_by_loop,
    "einsum": layer_by_einsum,
    "SDPA": layer_by_sdpa,
    "library": layer_by_the_library,
}


def layer_case(kind, dtype, device, seed=0, batch=2, n=5, d_model=12, n_heads=3):
    mask = layer_masks(batch, n, n_heads)[kind]
    mask = None if mask is None else torch.as_tensor(mask).to(device)
    generator = torch.Generator().manual_seed(seed)  # drawn on the CPU, then moved
    x = torch.randn(batch, n, d_model, generator=generator).to(device, dtype)
    return *layer(d_model, n_heads, seed, dtype, device), x, mask


@pytest.fixture
def exact_products():
    """TF32 off, as in every notebook."""
    turn_off_tf32()


@pytest.mark.usefixtures("exact_products")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("kind", layer_masks(*KINDS_FOR))
@pytest.mark.parametrize("way", WAYS)
def test_parity_matrix_of_the_layer(way, kind, dtype, device):
    ours, theirs, x, mask = layer_case(kind, dtype, device)
    expected = layer_by_matmul(ours, theirs, x, mask)
    assert expected.dtype == dtype
    assert expected.device == x.device
    for training in (True, False):
        with torch.set_grad_enabled(training):  # without gradients the library takes another path
            got = WAYS[way](ours.train(training), theirs.train(training), x, mask)
        torch.testing.assert_close(got, expected, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.usefixtures("exact_products")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", layer_masks(*KINDS_FOR))
@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_the_layer_agree(way, kind, device):
    ours, theirs, x, mask = layer_case(kind, torch.float64, device)

    def gradients(compute):
        tensor = x.clone().requires_grad_()
        loss = compute(ours, theirs, tensor, mask).square().sum()
        module = theirs if compute is layer_by_the_library else ours
        wanted = [tensor, *module.parameters()]
        found = torch.autograd.grad(loss, wanted)
        if module is theirs:
            by_name = dict(zip(dict(theirs.named_parameters()), found[1:], strict=True))
            by_name = {name.replace(".", "_"): gradient for name, gradient in by_name.items()}
            imported = from_module_state(**by_name)
            return [found[0], *(imported[name] for name, _ in ours.named_parameters())]
        return found

    for one, other in zip(gradients(WAYS[way]), gradients(layer_by_matmul), strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_weights_travel_to_the_library_and_back_unchanged(dtype):
    ours, theirs = layer(12, 3, 5, dtype)
    back = nn.MultiheadAttention(12, 3, batch_first=True, dtype=dtype)
    projections = (ours.w_q, ours.w_k, ours.w_v)
    back.load_state_dict(
        {
            "in_proj_weight": torch.cat([part.weight for part in projections]),
            "in_proj_bias": torch.cat([part.bias for part in projections]),
            "out_proj.weight": ours.w_o.weight,
            "out_proj.bias": ours.w_o.bias,
        }
    )
    for one, other in zip(back.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, other)
    x = torch.randn(2, 5, 12, dtype=dtype)
    got, expected = back(x, x, x, need_weights=False)[0], ours(x)
    torch.testing.assert_close(got, expected, atol=TOLERANCE[dtype], rtol=0)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    batch=st.integers(1, 4),
    n=st.integers(1, 7),
    n_heads=st.integers(1, 4),
    d_k=st.integers(1, 5),
    kind=st.sampled_from(list(layer_masks(1, 1, 1))),
    seed=st.integers(0, 99),
)
def test_parity_of_the_layer_for_any_sizes(batch, n, n_heads, d_k, kind, seed):
    sizes = {"batch": batch, "n": n, "d_model": n_heads * d_k, "n_heads": n_heads}
    ours, theirs, x, mask = layer_case(kind, torch.float64, "cpu", seed, **sizes)
    expected = ours(x, mask)
    for compute in WAYS.values():
        torch.testing.assert_close(compute(ours, theirs, x, mask), expected, atol=1e-12, rtol=0)
    layers = (ours.w_q, ours.w_k, ours.w_v, ours.w_o)
    for part in layers:  # the NumPy function has no biases
        nn.init.zeros_(part.bias)
    matrices = [part.weight.detach().numpy().T for part in layers]
    numpy_mask = None if mask is None else mask.numpy()
    for function in (na.multi_head_attention, *([] if kind.endswith("head") else [written_out])):
        got = function(x.numpy(), *matrices, n_heads, numpy_mask)
        np.testing.assert_allclose(got, ours(x, mask).detach().numpy(), atol=1e-12)
