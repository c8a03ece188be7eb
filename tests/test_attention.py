"""The reference implementations agree with each other and with PyTorch, and refuse bad input."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnbook import numpy_attention as na
from attnbook import torch_attention as ta

BATCH, HEADS, N_Q, N_K, D_K, D_V = 2, 3, 4, 5, 6, 7
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-6}


def inputs(seed, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    return draw(BATCH, HEADS, N_Q, D_K), draw(BATCH, HEADS, N_K, D_K), draw(BATCH, HEADS, N_K, D_V)


def masks():
    rng = np.random.default_rng(0)
    random = rng.random((BATCH, HEADS, N_Q, N_K)) < 0.5
    random[..., 0] = True  # no empty row: PyTorch's two implementations differ there
    return {
        "none": None,
        "causal": na.causal_mask(N_Q, N_K),
        "padding": na.padding_mask([3, 5], N_K)[:, None, None, :],
        "per example and head": random,
    }


def loop(query, key, value, mask):
    """One number at a time, in plain Python."""
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for place in np.ndindex(query.shape[:-1]):
        lead = place[:-1]
        keys, values = key[lead], value[lead]
        seen = [j for j in range(len(keys)) if mask is None or mask[(*place, j)]]
        scores = [float(query[place] @ keys[j]) / math.sqrt(len(query[place])) for j in seen]
        e = [math.exp(s - max(scores)) for s in scores]
        for share, j in zip(e, seen, strict=True):
            output[place] += share / sum(e) * values[j]
    return output


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("kind", masks())
def test_parity_with_pytorch_and_the_loop(kind, dtype):
    query, key, value = inputs(1, dtype)
    mask = masks()[kind]
    torch_mask = None if mask is None else torch.as_tensor(np.array(mask))
    ours, weights = ta.scaled_dot_product_attention(query, key, value, torch_mask)
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=torch_mask)
    numpy_ours, numpy_weights = na.scaled_dot_product_attention(
        query.numpy(), key.numpy(), value.numpy(), mask
    )
    full = None if mask is None else np.broadcast_to(mask, (BATCH, HEADS, N_Q, N_K))
    slow = loop(query.numpy(), key.numpy(), value.numpy(), full)
    assert ours.dtype == dtype
    assert str(numpy_ours.dtype) == str(dtype).removeprefix("torch.")
    for other in (theirs.numpy(), numpy_ours, slow):
        np.testing.assert_allclose(ours.numpy(), other, atol=TOLERANCE[dtype], rtol=0)
    np.testing.assert_allclose(weights.numpy(), numpy_weights, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize("kind", masks())
def test_gradients_equal_pytorchs(kind):
    mask = masks()[kind]
    mask = None if mask is None else torch.as_tensor(np.array(mask))

    def gradients(attention):
        tensors = [t.requires_grad_() for t in inputs(2)]
        return torch.autograd.grad(attention(*tensors).square().sum(), tensors)

    ours = gradients(lambda q, k, v: ta.scaled_dot_product_attention(q, k, v, mask)[0])
    theirs = gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", masks())
def test_the_backward_pass_by_hand_equals_autograd(kind):
    mask = masks()[kind]
    mask = None if mask is None else torch.as_tensor(np.array(mask))
    leaves = [t.requires_grad_() for t in inputs(4)]
    output, _ = ta.scaled_dot_product_attention(*leaves, mask)
    grad_output = torch.randn(output.shape, generator=torch.Generator().manual_seed(5)).double()
    wanted = torch.autograd.grad(output, leaves, grad_output)
    by_hand = ta.attention_backward(*(t.detach() for t in leaves), grad_output, mask)
    for one, other in zip(by_hand, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=0)
    with pytest.raises(ValueError, match="must have the shape of the output"):
        ta.attention_backward(*leaves, grad_output[..., :1, :], mask)


def test_no_slope_passes_a_hidden_place():
    query, key, value = inputs(6)
    mask = torch.ones(N_Q, N_K, dtype=torch.bool)
    mask[:, 2] = False  # a key that nobody sees
    mask[1] = False  # a query that sees nobody
    grads = ta.attention_backward(
        query, key, value, torch.ones(BATCH, HEADS, N_Q, D_V).double(), mask
    )
    assert not grads[0][..., 1, :].any()
    assert not grads[1][..., 2, :].any()
    assert not grads[2][..., 2, :].any()
    assert all(gradient.isfinite().all() for gradient in grads)


def test_an_empty_row_gives_zeros_and_a_zero_gradient():
    query, key, value = (t.requires_grad_() for t in inputs(3))
    mask = torch.ones(N_Q, N_K, dtype=torch.bool)
    mask[1] = False
    output, weights = ta.scaled_dot_product_attention(query, key, value, mask)
    assert not output[..., 1, :].any()
    assert not weights[..., 1, :].any()
    gradients = torch.autograd.grad(output.sum(), [query, key, value])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][..., 1, :].any()
    arrays = [t.detach().numpy() for t in (query, key, value)]
    numpy_output, numpy_weights = na.scaled_dot_product_attention(*arrays, mask.numpy())
    assert not numpy_output[..., 1, :].any()
    assert not numpy_weights[..., 1, :].any()


def test_hidden_content_never_reaches_the_output():
    query, key, value = (t.numpy() for t in inputs(4))
    mask = na.padding_mask([3, 2], N_K)[:, None, None, :]
    before = na.scaled_dot_product_attention(query, key, value, mask)[0]
    hidden = np.broadcast_to(~mask.swapaxes(-1, -2), key.shape[:-1] + (1,))
    for fill in (0.0, 1e6, -1e30):
        changed = [np.where(hidden, fill, t) for t in (key, value)]
        with np.errstate(over="ignore"):
            after = na.scaled_dot_product_attention(query, *changed, mask)[0]
        np.testing.assert_array_equal(before, after)


def test_the_causal_mask_compares_positions():
    assert na.causal_mask(3).tolist() == np.tril(np.ones((3, 3), bool)).tolist()
    assert na.causal_mask(1, 4).all()
    assert na.causal_mask(2, 4).tolist() == [[True, True, True, False], [True] * 4]


def test_masks_convert_there_and_back():
    mask = na.causal_mask(3, 4)
    np.testing.assert_array_equal(na.additive_to_boolean(na.boolean_to_additive(mask)), mask)
    np.testing.assert_array_equal(na.to_module_mask(mask), ~mask)
    with pytest.raises(ValueError, match="0/1"):
        na.additive_to_boolean(mask.astype(float))


@pytest.mark.parametrize("batch_mask", ["none", "causal", "padding", "per example"])
def test_the_module_equals_nn_multihead_attention_both_ways(batch_mask):
    batch, n, d_model, n_heads = 2, 5, 12, 3
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True, dtype=torch.float64)
    ours = ta.MultiHeadSelfAttention(d_model, n_heads).double()
    nn.init.normal_(theirs.in_proj_bias)
    nn.init.normal_(theirs.out_proj.bias)
    with torch.no_grad():
        for part, weight, bias in zip(
            (ours.w_q, ours.w_k, ours.w_v),
            theirs.in_proj_weight.chunk(3),
            theirs.in_proj_bias.chunk(3),
            strict=True,
        ):
            part.weight.copy_(weight)
            part.bias.copy_(bias)
        ours.w_o.load_state_dict(theirs.out_proj.state_dict())
    x = torch.randn(batch, n, d_model, dtype=torch.float64)
    causal = torch.as_tensor(na.causal_mask(n))
    padding = torch.as_tensor(na.padding_mask([3, 5], n))
    mask = {
        "none": None,
        "causal": causal,
        "padding": padding[:, None, :],
        "per example": padding[:, None, :] & causal,
    }[batch_mask]
    out, weights = ours(x, mask, return_weights=True)
    options = {}
    if "causal" in batch_mask or batch_mask == "per example":
        options["attn_mask"] = ~causal
    if "pad" in batch_mask or batch_mask == "per example":
        options["key_padding_mask"] = ~padding
    for training in (True, False):
        reference, reference_weights = theirs.train(training)(
            x, x, x, average_attn_weights=False, **options
        )
        torch.testing.assert_close(out, reference, atol=1e-12, rtol=0)
        torch.testing.assert_close(weights, reference_weights, atol=1e-12, rtol=0)


def test_numpy_multi_head_equals_the_module():
    batch, n, d_model, n_heads = 2, 5, 12, 3
    torch.manual_seed(1)
    module = ta.MultiHeadSelfAttention(d_model, n_heads).double()
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
    w = [getattr(module, name).weight.detach().numpy().T for name in ("w_q", "w_k", "w_v", "w_o")]
    x = torch.randn(batch, n, d_model, dtype=torch.float64)
    mask = na.padding_mask([3, 5], n)[:, None, :] & na.causal_mask(n)
    got = na.multi_head_attention(x.numpy(), *w, n_heads, mask)
    np.testing.assert_allclose(got, module(x, torch.as_tensor(mask)).detach().numpy(), atol=1e-12)


def test_splitting_and_merging_heads_undo_each_other_and_keep_tokens_apart():
    x = torch.arange(2 * 5 * 12.0).reshape(2, 5, 12)
    heads = ta.split_heads(x, 3)
    assert heads.shape == (2, 3, 5, 4)
    torch.testing.assert_close(ta.merge_heads(heads), x)
    torch.testing.assert_close(heads[1, 2, 3], x[1, 3, 8:12])


@pytest.mark.parametrize("module", [na, ta])
def test_shapes_that_do_not_fit_get_one_sentence(module):
    make = np.ones if module is na else torch.ones
    attention = module.scaled_dot_product_attention
    with pytest.raises(ValueError, match=r"query \(4, 6\) and key \(5, 3\) must agree in d_k"):
        attention(make((4, 6)), make((5, 3)), make((5, 2)))
    with pytest.raises(ValueError, match=r"key \(5, 6\) and value \(4, 2\) must agree in n_k"):
        attention(make((4, 6)), make((5, 6)), make((4, 2)))
    with pytest.raises(ValueError, match=r"query \(6,\) must have at least two axes.*v\[None"):
        attention(make(6), make((5, 6)), make((5, 2)))
    with pytest.raises(TypeError, match="boolean"):
        attention(make((4, 6)), make((5, 6)), make((5, 2)), make((4, 5)))
    with pytest.raises(ValueError, match=r"mask \(5, 4\) does not broadcast"):
        attention(make((4, 6)), make((5, 6)), make((5, 2)), make((5, 4)) > 0)


def test_a_bare_padding_mask_and_heads_that_do_not_divide_are_refused():
    x = np.ones((3, 5, 12))
    w = [np.eye(12)] * 4
    padding = na.padding_mask([1, 2, 3], 5)
    with pytest.raises(ValueError, match=r"mask\[:, None, :\]"):
        na.multi_head_attention(x, *w, 3, padding)
    with pytest.raises(ValueError, match=r"mask\[:, None, :\]"):
        ta.MultiHeadSelfAttention(12, 3)(torch.ones(3, 5, 12), torch.as_tensor(padding))
    for n_heads in (5, 0):
        with pytest.raises(ValueError, match=f"n_heads must divide.*n_heads {n_heads}"):
            na.multi_head_attention(x, *w, n_heads)
        with pytest.raises(ValueError, match=f"n_heads must divide.*n_heads {n_heads}"):
            ta.MultiHeadSelfAttention(12, n_heads)
        with pytest.raises(ValueError, match=f"n_heads must divide.*n_heads {n_heads}"):
            ta.split_heads(torch.ones(3, 5, 12), n_heads)


def test_an_axis_too_few_or_too_many_gets_one_sentence():
    with pytest.raises(ValueError, match=r"\(batch, n, d_model\); got shape \(5, 12\)"):
        ta.split_heads(torch.ones(5, 12), 3)
    with pytest.raises(ValueError, match=r"\(batch, n_heads, n, d_k\); got shape \(2, 5, 12\)"):
        ta.merge_heads(torch.ones(2, 5, 12))
    for lengths in (3, [[1, 2]]):
        with pytest.raises(ValueError, match=r"lengths must be \(batch,\), one an example"):
            na.padding_mask(lengths, 5)
    with pytest.raises(ValueError, match=r"between 0 and max_len = 5; got \[2 6\]"):
        na.padding_mask([2, 6], 5)
    with pytest.raises(ValueError, match="got 3 < 4"):
        na.causal_mask(4, 3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_float_dtypes_are_kept_and_integers_become_float64(dtype):
    rng = np.random.default_rng(5)
    query, key, value = (rng.normal(size=(3, 4)).astype(dtype) for _ in range(3))
    for result in na.scaled_dot_product_attention(query, key, value, na.causal_mask(3)):
        assert result.dtype == dtype
    whole = np.arange(6).reshape(2, 3)
    assert na.scaled_scores(whole, whole).dtype == np.float64
