"""Attention in PyTorch: the functions of numpy_attention.py with autograd, and the module.

Everything keeps the dtype and the device of its input. Masks are boolean, True = may attend.
Vaswani et al. 2017, sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mix values by how well each query matches each key.

    query (..., n_q, d_k) · key (..., n_k, d_k) · value (..., n_k, d_v)
    mask  broadcasts to (..., n_q, n_k), bool, True = may attend; a row of False gives zeros.
    Returns output (..., n_q, d_v), weights (..., n_q, n_k).
    Raises ValueError naming both shapes when they do not fit, TypeError for a mask not boolean.
    Vaswani et al. 2017, eq. 1.
    """
    _agree("query", query, -1, "key", key, -1, "d_k")
    _agree("key", key, -2, "value", value, -2, "n_k")
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., n_q, n_k)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        mask = _boolean_mask(mask, scores)
        scores = scores.masked_fill(~mask, -math.inf)
        # A row with nothing to attend to is softmax of all -inf, NaN: give it zeros instead,
        # before the softmax, so that its gradient is zero and not NaN.
        empty = ~mask.any(dim=-1, keepdim=True)  # (..., n_q, 1)
        weights = scores.masked_fill(empty, 0.0).softmax(dim=-1).masked_fill(~mask, 0.0)
    return weights @ value, weights  # (..., n_q, d_v), (..., n_q, n_k)


def attention_backward(
    query: Tensor, key: Tensor, value: Tensor, grad_output: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of sum(output * grad_output), as autograd gives them, by hand.

    query, key, value and mask as in scaled_dot_product_attention · grad_output (..., n_q, d_v)
    Returns grad_query, grad_key, grad_value, each of the shape of what it belongs to; zero where
    nothing may be seen. The axes in front are those of all four: nothing is added up over them.
    Raises ValueError naming both shapes when grad_output or another does not fit.
    """
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    if grad_output.shape != output.shape:
        raise ValueError(
            f"grad_output {tuple(grad_output.shape)} must have the shape of the output, "
            f"{tuple(output.shape)}."
        )
    grad_value = weights.transpose(-2, -1) @ grad_output  # (..., n_k, d_v)
    grad_weights = grad_output @ value.transpose(-2, -1)  # (..., n_q, n_k)
    average = (weights * grad_weights).sum(dim=-1, keepdim=True)  # (..., n_q, 1)
    grad_scores = weights * (grad_weights - average) / math.sqrt(query.shape[-1])  # (..., n_q, n_k)
    grad_query = grad_scores @ key  # (..., n_q, d_k)
    grad_key = grad_scores.transpose(-2, -1) @ query  # (..., n_k, d_k)
    return grad_query, grad_key, grad_value


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the width into heads: (batch, n, d_model) -> (batch, n_heads, n, d_k).

    Head h owns columns h*d_k ... (h+1)*d_k of every token.
    Raises ValueError when x has not three axes or n_heads does not divide d_model.
    """
    if x.ndim != 3:
        raise ValueError(f"x must be (batch, n, d_model); got shape {tuple(x.shape)}.")
    batch, n, d_model = x.shape
    d_k = _width_of_a_head(d_model, n_heads)
    x = x.reshape(batch, n, n_heads, d_k)  # a token's columns, in n_heads groups
    return x.transpose(1, 2)  # (batch, n_heads, n, d_k)


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads side by side again: (batch, n_heads, n, d_k) -> (batch, n, n_heads*d_k).

    Raises ValueError when x has not four axes.
    """
    if x.ndim != 4:
        raise ValueError(f"x must be (batch, n_heads, n, d_k); got shape {tuple(x.shape)}.")
    batch, n_heads, n, d_k = x.shape
    return x.transpose(1, 2).reshape(batch, n, n_heads * d_k)


class MultiHeadSelfAttention(nn.Module):
    """Several attentions side by side, each on its own slice of the width.

    MultiHeadSelfAttention(d_model, n_heads); its parameters are four nn.Linear(d_model, d_model)
    with bias: w_q, w_k, w_v, w_o.
    forward(x, mask=None): x (batch, n, d_model) -> (batch, n, d_model).
    mask (n, n) or (batch, n or 1, n) is the same for all heads; (batch, n_heads, n, n) is per head.
    With return_weights=True also returns the weights, (batch, n_heads, n, n).
    Raises ValueError when n_heads does not divide d_model or a shape does not fit, TypeError for a
    mask not boolean.
    Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        _width_of_a_head(d_model, n_heads)  # raises where there is none
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        if x.ndim != 3 or x.shape[-1] != self.w_q.in_features:
            raise ValueError(
                f"x must be (batch, n, {self.w_q.in_features}); got shape {tuple(x.shape)}."
            )
        query = split_heads(self.w_q(x), self.n_heads)  # (batch, n_heads, n, d_k)
        key = split_heads(self.w_k(x), self.n_heads)
        value = split_heads(self.w_v(x), self.n_heads)
        mask = per_head_mask(mask, x)  # broadcasts to (batch, n_heads, n, n)
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        output = self.w_o(merge_heads(output))  # (batch, n, d_model)
        return (output, weights) if return_weights else output


def per_head_mask(mask: Tensor | None, x: Tensor) -> Tensor | None:
    """Give a mask its head axis: (n, n) and (batch, n or 1, n) get one; per-head masks keep theirs.

    Raises ValueError for a bare (batch, n) padding mask, whose meaning is unclear.
    """
    if mask is None or mask.ndim > x.ndim:
        return mask
    batch, n = x.shape[0], x.shape[-2]
    if mask.ndim == 2 and mask.shape[0] not in (1, n):
        raise ValueError(
            f"a mask of shape {tuple(mask.shape)} is not (n, n) = ({n}, {n}); for a padding mask "
            f"of shape (batch, n) = ({batch}, {n}) write mask[:, None, :], so that it hides keys."
        )
    return mask.unsqueeze(-3)  # (1 or batch, 1, n or 1, n)


def _width_of_a_head(d_model: int, n_heads: int) -> int:
    """d_k; ValueError unless n_heads divides d_model."""
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model; got d_model {d_model}, n_heads {n_heads}.")
    return d_model // n_heads


def _agree(name_a: str, a: Tensor, axis_a: int, name_b: str, b: Tensor, axis_b: int, what: str):
    """Raise ValueError unless both have two axes or more, and these two the same length."""
    for name, tensor in ((name_a, a), (name_b, b)):
        if tensor.ndim < 2:
            raise ValueError(
                f"{name} {tuple(tensor.shape)} must have at least two axes: write a single vector "
                "v as v[None, :]."
            )
    if a.shape[axis_a] != b.shape[axis_b]:
        raise ValueError(
            f"{name_a} {tuple(a.shape)} and {name_b} {tuple(b.shape)} must agree in {what}: axis "
            f"{axis_a} of {name_a} and axis {axis_b} of {name_b}."
        )


def _boolean_mask(mask: Tensor, scores: Tensor) -> Tensor:
    """The mask, checked to be boolean and to fit the scores."""
    if mask.dtype != torch.bool:
        raise TypeError(
            f"a mask must be boolean, True = may attend; got {mask.dtype}. A 0/1 float mask "
            "added to scores hides nothing: write mask.bool()."
        )
    try:
        return mask.expand(scores.shape)
    except RuntimeError:
        raise ValueError(
            f"mask {tuple(mask.shape)} does not broadcast to scores {tuple(scores.shape)}, "
            "that is (..., n_q, n_k)."
        ) from None
