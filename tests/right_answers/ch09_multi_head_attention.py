"""Right answers to chapter 9 written in ways a check must not reject."""

import functools
import math
from collections import OrderedDict

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from attnbook import numpy_attention as na
from attnbook import torch_attention as ta
from attnbook.exercises.ch09_multi_head_attention import MultiHeadSelfAttention, ablate_head
from attnbook.numpy_attention import scaled_dot_product_attention, softmax
from attnbook.torch_attention import merge_heads, split_heads

# --- multi_head_attention -------------------------------------------------------------------------


def mha_loop_over_heads(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    d_k = x.shape[-1] // n_heads
    parts = []
    for h in range(n_heads):
        own = slice(h * d_k, (h + 1) * d_k)
        q, k, v = (x @ w[:, own] for w in (w_q, w_k, w_v))
        parts.append(scaled_dot_product_attention(q, k, v, mask)[0])
    return np.concatenate(parts, axis=-1) @ w_o


def mha_sum_of_contributions(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    d_k = x.shape[-1] // n_heads
    total = np.zeros_like(x)
    for h in range(n_heads):
        own = slice(h * d_k, (h + 1) * d_k)
        q, k, v = x @ w_q[:, own], x @ w_k[:, own], x @ w_v[:, own]
        total = total + scaled_dot_product_attention(q, k, v, mask)[0] @ w_o[own]
    return total


def mha_einsum(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    d_model = x.shape[-1]
    w_q, w_k, w_v = (w.reshape(d_model, n_heads, -1) for w in (w_q, w_k, w_v))
    w_o = w_o.reshape(n_heads, -1, d_model)
    q, k, v = (np.einsum("...nd,dhk->...hnk", x, w) for w in (w_q, w_k, w_v))
    scores = np.einsum("...hik,...hjk->...hij", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask[..., None, :, :], scores, np.finfo(scores.dtype).min)
    return np.einsum("...hij,...hjk,hkd->...id", softmax(scores), v, w_o)


def mha_one_number_at_a_time(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    lead, (n, d_model) = x.shape[:-2], x.shape[-2:]
    d_k = d_model // n_heads
    allowed = np.broadcast_to(True if mask is None else mask, (*lead, n, n))
    out = np.zeros(x.shape)
    for b in np.ndindex(lead):
        q, k, v = (x[b] @ w for w in (w_q, w_k, w_v))
        for h in range(n_heads):
            own = slice(h * d_k, (h + 1) * d_k)
            for i in range(n):
                seen = [j for j in range(n) if allowed[(*b, i, j)]]
                s = [float(q[i, own] @ k[j, own]) / d_k**0.5 for j in seen]
                e = [math.exp(one - max(s)) for one in s]
                out[(*b, i, own)] = sum(a * v[j, own] for a, j in zip(e, seen, strict=True)) / sum(
                    e
                )
    return (out @ w_o).astype(x.dtype)


def mha_fused(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    qkv = x @ np.concatenate([w_q, w_k, w_v], axis=1)
    qkv = qkv.reshape(*x.shape[:-1], 3, n_heads, -1)
    q, k, v = np.moveaxis(qkv, (-3, -2), (0, -3))
    mask = None if mask is None else np.expand_dims(mask, -3)
    out, _ = scaled_dot_product_attention(q, k, v, mask)
    return np.swapaxes(out, -3, -2).reshape(x.shape) @ w_o


def mha_heads_first(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def cut(w):
        return np.stack(np.split(x @ w, n_heads, axis=-1))  # (n_heads, ..., n, d_k)

    out, _ = scaled_dot_product_attention(cut(w_q), cut(w_k), cut(w_v), mask)
    return np.concatenate(list(out), axis=-1) @ w_o


def mha_scale_on_queries(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    d_k = x.shape[-1] // n_heads

    def cut(a):
        return np.swapaxes(a.reshape(*x.shape[:-1], n_heads, d_k), -3, -2)

    q, k, v = cut(x @ w_q) * d_k**-0.5, cut(x @ w_k), cut(x @ w_v)
    scores = q @ np.swapaxes(k, -1, -2)
    if mask is not None:
        scores = scores + np.where(mask, 0, -np.inf).astype(x.dtype)[..., None, :, :]
    e = np.exp(scores - scores.max(-1, keepdims=True))
    out = (e @ v) / e.sum(-1, keepdims=True)
    return np.concatenate([out[..., h, :, :] for h in range(n_heads)], -1) @ w_o


def mha_over_the_batch(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    if x.ndim > 2:
        full = None if mask is None else np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
        rows = [
            mha_over_the_batch(one, w_q, w_k, w_v, w_o, n_heads, None if full is None else full[i])
            for i, one in enumerate(x)
        ]
        return np.stack(rows)
    return na.multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask)


def mha_through_torch(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    x, w_q, w_k, w_v, w_o = (torch.from_numpy(a) for a in (x, w_q, w_k, w_v, w_o))
    q, k, v = ((x @ w).unflatten(-1, (n_heads, -1)).transpose(-3, -2) for w in (w_q, w_k, w_v))
    mask = None if mask is None else torch.from_numpy(np.array(mask)).unsqueeze(-3)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return (out.transpose(-3, -2).flatten(-2) @ w_o).numpy()


def mha_transposed_throughout(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Tokens as columns, as other books have it."""
    columns = np.swapaxes(x, -1, -2)
    q, k, v = (w.T @ columns for w in (w_q, w_k, w_v))
    d_k = x.shape[-1] // n_heads
    parts = []
    for h in range(n_heads):
        rows = slice(h * d_k, (h + 1) * d_k)
        scores = np.swapaxes(k[..., rows, :], -1, -2) @ q[..., rows, :] / math.sqrt(d_k)
        if mask is not None:
            scores = np.where(np.swapaxes(mask, -1, -2), scores, -np.inf)
        parts.append(v[..., rows, :] @ softmax(scores, axis=-2))
    return np.swapaxes(w_o.T @ np.concatenate(parts, axis=-2), -1, -2)


def mha_merged_projections(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """W_q W_k^T and W_v W_o multiplied first, head by head."""
    d_k = x.shape[-1] // n_heads
    out = 0
    for h in range(n_heads):
        own = slice(h * d_k, (h + 1) * d_k)
        scores = x @ (w_q[:, own] @ w_k[:, own].T) @ np.swapaxes(x, -1, -2) / math.sqrt(d_k)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        out = out + softmax(scores) @ x @ (w_v[:, own] @ w_o[own])
    return out


def mha_writes_into_a_new_array(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    merged = np.empty_like(x)
    d_k = x.shape[-1] // n_heads
    for start in range(0, x.shape[-1], d_k):
        own = slice(start, start + d_k)
        merged[..., own] = scaled_dot_product_attention(
            (x @ w_q)[..., own], (x @ w_k)[..., own], (x @ w_v)[..., own], mask
        )[0]
    return merged @ w_o


def mha_padding_with_zero_columns(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Full width for every head; foreign columns of the queries and values are set to zero."""
    d_model = x.shape[-1]
    d_k = d_model // n_heads
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    merged = 0
    for h in range(n_heads):
        own = (np.arange(d_model) // d_k == h).astype(x.dtype)
        scores = (q * own) @ np.swapaxes(k, -1, -2) / math.sqrt(d_k)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        merged = merged + softmax(scores) @ (v * own)
    return merged @ w_o


def mha_noncontiguous(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    out = na.multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask)
    return np.repeat(out, 2, axis=-1)[..., ::2]


def mha_prints(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    print(x.shape)
    return na.multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask)


# --- MultiHeadSelfAttention -----------------------------------------------------------------------


class Base(nn.Module):
    """Four projections; a subclass says what to do with them."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads, self.d_k = d_model, n_heads, d_model // n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))


class WithSDPA(Base):
    def forward(self, x, mask=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        mask = None if mask is None else mask.unsqueeze(-3)
        return self.w_o(merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))


class LoopOverHeads(Base):
    def forward(self, x, mask=None):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        parts = []
        for h in range(self.n_heads):
            own = slice(h * self.d_k, (h + 1) * self.d_k)
            scores = q[..., own] @ k[..., own].mT / math.sqrt(self.d_k)
            if mask is not None:
                scores = torch.where(mask, scores, -torch.inf)
            parts.append(torch.softmax(scores, -1) @ v[..., own])
        return self.w_o(torch.cat(parts, -1))


class LoopOverSentences(Base):
    def forward(self, x, mask=None):
        full = None if mask is None else mask.expand(len(x), x.shape[1], x.shape[1])
        rows = []
        for i, one in enumerate(x):
            q, k, v = (
                w(one).view(-1, self.n_heads, self.d_k).transpose(0, 1)
                for w in (self.w_q, self.w_k, self.w_v)
            )
            own = None if full is None else full[i]
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=own)
            rows.append(self.w_o(out.transpose(0, 1).reshape(-1, self.d_model)))
        return torch.stack(rows)


class FusedAtCallTime(Base):
    def forward(self, x, mask=None):
        layers = (self.w_q, self.w_k, self.w_v)
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        qkv = F.linear(x, weight, bias).unflatten(-1, (3, self.n_heads, self.d_k))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = q @ k.mT * self.d_k**-0.5
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(-3).logical_not(), float("-inf"))
        return self.w_o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class WithEinsum(Base):
    def forward(self, x, mask=None):
        q, k, v = (
            w(x).view(*x.shape[:2], self.n_heads, self.d_k) for w in (self.w_q, self.w_k, self.w_v)
        )
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask.unsqueeze(-3), -math.inf)
        return self.w_o(torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).flatten(-2))


class SmallestFill(Base):
    def forward(self, x, mask=None):
        q, k, v = (
            w(x).unflatten(-1, (self.n_heads, -1)).movedim(-2, 1)
            for w in (self.w_q, self.w_k, self.w_v)
        )
        scores = (q / self.d_k**0.5) @ k.transpose(2, 3)
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, torch.finfo(scores.dtype).min)
        return self.w_o((F.softmax(scores, -1) @ v).movedim(1, -2).flatten(-2))


class BatchTimesHeads(Base):
    def forward(self, x, mask=None):
        batch, n, _ = x.shape

        def cut(layer):
            return split_heads(layer(x), self.n_heads).reshape(-1, n, self.d_k)

        scores = torch.bmm(cut(self.w_q), cut(self.w_k).transpose(1, 2)) / math.sqrt(self.d_k)
        if mask is not None:
            masks = mask.expand(batch, n, n).repeat_interleave(self.n_heads, dim=0)
            scores = scores.masked_fill(~masks, -math.inf)
        out = torch.bmm(scores.softmax(-1), cut(self.w_v))
        return self.w_o(merge_heads(out.view(batch, self.n_heads, n, self.d_k)))


class SumOfContributions(Base):
    def forward(self, x, mask=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        mask = None if mask is None else mask.unsqueeze(-3)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        blocks = self.w_o.weight.T.view(self.n_heads, self.d_k, self.d_model)
        return (out @ blocks).sum(1) + self.w_o.bias


class FunctionalMultiHead(Base):
    """PyTorch's own function, with the masks turned round and repeated for its heads."""

    def forward(self, x, mask=None):
        batch, n, _ = x.shape
        if mask is not None:
            mask = ~mask.expand(batch, n, n).repeat_interleave(self.n_heads, dim=0)
        time_first = x.transpose(0, 1)
        out, _ = F.multi_head_attention_forward(
            time_first,
            time_first,
            time_first,
            self.d_model,
            self.n_heads,
            torch.cat([self.w_q.weight, self.w_k.weight, self.w_v.weight]),
            torch.cat([self.w_q.bias, self.w_k.bias, self.w_v.bias]),
            None,
            None,
            False,
            0.0,
            self.w_o.weight,
            self.w_o.bias,
            training=self.training,
            need_weights=False,
            attn_mask=mask,
        )
        return out.transpose(0, 1)


class ModuleAtCallTime(Base):
    """A bare nn.MultiheadAttention is filled in every call."""

    def forward(self, x, mask=None):
        batch, n, _ = x.shape
        shell = nn.MultiheadAttention(self.d_model, self.n_heads, batch_first=True, device="meta")
        state = {
            "in_proj_weight": torch.cat([self.w_q.weight, self.w_k.weight, self.w_v.weight]),
            "in_proj_bias": torch.cat([self.w_q.bias, self.w_k.bias, self.w_v.bias]),
            "out_proj.weight": self.w_o.weight,
            "out_proj.bias": self.w_o.bias,
        }
        if mask is not None:
            mask = ~mask.expand(batch, n, n).repeat_interleave(self.n_heads, dim=0)
        options = {"attn_mask": mask, "need_weights": False}
        return torch.func.functional_call(shell.train(), state, (x, x, x), options)[0]


class NonContiguous(Base):
    def forward(self, x, mask=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        mask = None if mask is None else mask[..., None, :, :]
        out = self.w_o(merge_heads(ta.scaled_dot_product_attention(q, k, v, mask)[0]))
        return out.permute(2, 1, 0).contiguous().permute(2, 1, 0)


class OwnSoftmax(Base):
    def forward(self, x, mask=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        scores = q @ k.mT / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
        scores = scores - scores.amax(-1, keepdim=True).detach()
        e = scores.exp()
        return self.w_o(merge_heads(e / e.sum(-1, keepdim=True) @ v))


class HeadsAsList(Base):
    def forward(self, x, mask=None):
        cut = [layer(x).chunk(self.n_heads, dim=-1) for layer in (self.w_q, self.w_k, self.w_v)]
        heads = [
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            for q, k, v in zip(*cut, strict=True)
        ]
        return self.w_o(torch.cat(heads, dim=-1))


class WithBuffers(Base):
    """Keeps a buffer that is not saved, and never relies on it."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.register_buffer("scale", torch.tensor(1 / math.sqrt(self.d_k)), persistent=False)

    def forward(self, x, mask=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        scores = q @ k.mT / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1 if mask.ndim == 3 else 0), -math.inf)
        return self.w_o(merge_heads(scores.softmax(-1) @ v))


class DropoutOfNothing(Base):
    """A dropout layer that drops nothing unless asked to."""

    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__(d_model, n_heads)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        scores = q @ k.mT / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
        return self.w_o(merge_heads(self.dropout(scores.softmax(-1)) @ v))


# --- from_module_state ----------------------------------------------------------------------------


def state_by_slices(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    d = out_proj_bias.shape[0]
    state = {"w_o.weight": out_proj_weight, "w_o.bias": out_proj_bias}
    for i, name in enumerate(("w_q", "w_k", "w_v")):
        state[f"{name}.weight"] = in_proj_weight[i * d : (i + 1) * d, :]
        state[f"{name}.bias"] = in_proj_bias[i * d : (i + 1) * d]
    return state


def state_by_view(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    d = in_proj_weight.shape[-1]
    weights, biases = in_proj_weight.view(3, d, d), in_proj_bias.view(3, d)
    names = ("w_q", "w_k", "w_v", "w_o")
    weights, biases = [*weights, out_proj_weight], [*biases, out_proj_bias]
    return OrderedDict(
        [(f"{n}.weight", w.clone()) for n, w in zip(names, weights, strict=True)]
        + [(f"{n}.bias", b.clone()) for n, b in zip(names, biases, strict=True)]
    )


def state_of_a_module(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    module = MultiHeadSelfAttention(len(out_proj_bias), 1).to(in_proj_weight.dtype)
    parts = (module.w_q, module.w_k, module.w_v)
    for part, w, b in zip(
        parts, in_proj_weight.split(len(out_proj_bias)), in_proj_bias.chunk(3), strict=True
    ):
        part.weight.data.copy_(w)
        part.bias.data.copy_(b)
    module.w_o.load_state_dict({"weight": out_proj_weight, "bias": out_proj_bias})
    return module.state_dict()


def state_by_tensor_split(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    names = ["w_q", "w_k", "w_v"]
    state = dict(zip([f"{n}.weight" for n in names], in_proj_weight.tensor_split(3), strict=True))
    state.update(
        zip(
            [f"{n}.bias" for n in names], torch.split(in_proj_bias, len(out_proj_bias)), strict=True
        )
    )
    return {**state, "w_o.weight": out_proj_weight.contiguous(), "w_o.bias": out_proj_bias}


def state_with_parameters(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias):
    state = state_by_slices(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias)
    return {name: nn.Parameter(tensor) for name, tensor in state.items()}


# --- ablate_head ----------------------------------------------------------------------------------


def ablate_by_factor(weight, n_heads, head):
    keep = torch.ones(n_heads, dtype=weight.dtype)
    keep[head] = 0
    return weight * keep.repeat_interleave(weight.shape[1] // n_heads)


def ablate_by_view(weight, n_heads, head):
    blocks = weight.clone().view(len(weight), n_heads, -1)
    blocks[:, head] = 0
    return blocks.flatten(1)


def ablate_by_where(weight, n_heads, head):
    owner = torch.arange(weight.shape[1]) // (weight.shape[1] // n_heads)
    return torch.where(owner == head, 0, weight)


def ablate_by_chunks(weight, n_heads, head):
    parts = list(weight.chunk(n_heads, dim=1))
    parts[head] = torch.zeros_like(parts[head])
    return torch.cat(parts, dim=1)


def ablate_by_subtraction(weight, n_heads, head):
    d_k = weight.size(1) // n_heads
    own = torch.zeros_like(weight)
    own[:, head * d_k : head * d_k + d_k] = weight[:, head * d_k : head * d_k + d_k]
    return weight - own


def ablate_column_by_column(weight, n_heads, head):
    d_k = int(weight.shape[1] / n_heads)
    new = torch.empty_like(weight)
    for column in range(weight.shape[1]):
        new[:, column] = 0 if column // d_k == head else weight[:, column]
    return new


def ablate_by_diagonal(weight, n_heads, head):
    keep = torch.ones(n_heads, weight.shape[1] // n_heads, dtype=weight.dtype)
    keep[head] = 0
    return weight @ torch.diag(keep.flatten())


RIGHT = {
    "multi_head_attention": [
        mha_loop_over_heads,
        mha_sum_of_contributions,
        mha_einsum,
        mha_one_number_at_a_time,
        mha_fused,
        mha_heads_first,
        mha_scale_on_queries,
        mha_over_the_batch,
        mha_through_torch,
        mha_transposed_throughout,
        mha_merged_projections,
        mha_writes_into_a_new_array,
        mha_padding_with_zero_columns,
        mha_noncontiguous,
        mha_prints,
        na.multi_head_attention,
        functools.partial(na.multi_head_attention),
    ],
    "MultiHeadSelfAttention": [
        ta.MultiHeadSelfAttention,
        WithSDPA,
        LoopOverHeads,
        LoopOverSentences,
        FusedAtCallTime,
        WithEinsum,
        SmallestFill,
        BatchTimesHeads,
        SumOfContributions,
        FunctionalMultiHead,
        ModuleAtCallTime,
        NonContiguous,
        OwnSoftmax,
        HeadsAsList,
        WithBuffers,
        DropoutOfNothing,
    ],
    "from_module_state": [
        state_by_slices,
        state_by_view,
        state_of_a_module,
        state_by_tensor_split,
        state_with_parameters,
    ],
    "ablate_head": [
        ablate_by_factor,
        ablate_by_view,
        ablate_by_where,
        ablate_by_chunks,
        ablate_by_subtraction,
        ablate_column_by_column,
        ablate_by_diagonal,
        lambda weight, n_heads, head: ablate_head(weight, n_heads, head),
    ],
}
