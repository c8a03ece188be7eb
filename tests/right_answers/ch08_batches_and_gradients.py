"""Right answers to chapter 8 written in ways a check must not reject."""

import functools
import math

import torch
import torch.nn.functional as F

from attnbook import torch_attention
from attnbook.exercises.ch08_batches_and_gradients import (
    attention_backward,
    batched_attention,
    merge_heads,
    split_heads,
)

# --- 8.1 batched_attention ----------------------------------------------------------------------


def attention_through_pytorch(query, key, value, mask=None):
    """The weights are what attention returns when the values are the unit vectors."""
    n_k = key.shape[-2]
    unit = torch.eye(n_k, dtype=value.dtype).expand(*key.shape[:-2], n_k, n_k)
    attend = functools.partial(F.scaled_dot_product_attention, query, key, attn_mask=mask)
    return attend(value), attend(unit)


def attention_loop(query, key, value, mask=None):
    """One query at a time."""
    lead, n_q, n_k = query.shape[:-2], query.shape[-2], key.shape[-2]
    if mask is not None:
        mask = mask.expand(*lead, n_q, n_k)
    rows = []
    for place in torch.cartesian_prod(*[torch.arange(s) for s in (*lead, n_q)]).reshape(
        -1, len(lead) + 1
    ):
        *front, i = place.tolist()
        front = tuple(front)
        seen = list(range(n_k)) if mask is None else mask[(*front, i)].nonzero()[:, 0].tolist()
        row = query.new_zeros(n_k)
        if seen:
            scores = key[front][seen] @ query[front][i] / math.sqrt(query.shape[-1])
            row = row.index_put((torch.tensor(seen),), torch.softmax(scores, 0))
        rows.append(row)
    weights = torch.stack(rows).reshape(*lead, n_q, n_k)
    return torch.matmul(weights, value), weights


def attention_example_by_example(query, key, value, mask=None):
    if query.ndim == 2:
        return batched_attention(query, key, value, mask)
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2])
    parts = [
        attention_example_by_example(query[b], key[b], value[b], None if mask is None else mask[b])
        for b in range(len(query))
    ]
    outputs, weights = zip(*parts, strict=True)
    return torch.stack(outputs), torch.stack(weights)


def attention_einsum(query, key, value, mask=None):
    scores = torch.einsum("...id,...jd->...ij", query, key) * query.size(-1) ** -0.5
    if mask is None:
        weights = torch.softmax(scores, -1)
    else:
        bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -1e30)
        weights = torch.softmax(scores + bias, -1) * mask
    return torch.einsum("...ij,...jd->...id", weights, value), weights


def attention_scaled_query(query, key, value, mask=None):
    query = query / query.shape[-1] ** 0.5
    scores = query @ key.mT
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask.any(-1, keepdim=True)
    return weights @ value, weights


def attention_nan_to_num(query, key, value, mask=None):
    """masked_fill stops the gradient of an empty row, so mending afterwards is right here."""
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    weights = torch.nan_to_num(scores.softmax(-1), 0.0)
    return weights @ value, weights


def attention_by_logarithms(query, key, value, mask=None):
    scores = (query[..., :, None, :] * key[..., None, :, :]).sum(-1) / math.sqrt(query.shape[-1])
    allowed = torch.ones(scores.shape, dtype=torch.bool) if mask is None else mask
    allowed = allowed.expand(scores.shape)
    scores = torch.where(allowed, scores, -1e300 if scores.dtype == torch.float64 else -1e38)
    weights = torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True))
    weights = torch.where(allowed, weights, 0.0)
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights


def attention_exponentials(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    top = scores.amax(-1, keepdim=True).detach()
    exponentials = torch.exp(scores - top.nan_to_num(neginf=0.0))
    total = exponentials.sum(-1, keepdim=True)
    weights = exponentials / torch.where(total == 0, 1.0, total)
    return weights @ value, weights


def attention_flattened(query, key, value, mask=None):
    """All axes in front as one, torch.bmm, and back."""
    lead, n_q, n_k = query.shape[:-2], query.shape[-2], key.shape[-2]
    q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (query, key, value))
    scores = torch.bmm(q, k.permute(0, 2, 1)).div(math.sqrt(q.size(2)))
    if mask is not None:
        full = mask.expand(*lead, n_q, n_k).reshape(-1, n_q, n_k)
        weights = scores.masked_fill(~full, -torch.inf).softmax(2).masked_fill(~full, 0)
    else:
        weights = scores.softmax(2)
    output = torch.bmm(weights, v)
    return output.reshape(*lead, n_q, -1), weights.reshape(*lead, n_q, n_k)


def attention_returns_a_list(query, key, value, mask=None):
    return list(torch_attention.scaled_dot_product_attention(query, key, value, mask))


def attention_not_contiguous(query, key, value, mask=None):
    output, weights = batched_attention(query, key, value, mask)
    return output.mT.contiguous().mT, torch.stack([weights, weights], -1)[..., 0]


def attention_prints(query, key, value, mask=None):
    print(query.shape, mask)
    return batched_attention(query, key, value, mask)


class Attention(torch.nn.Module):
    def forward(self, query, key, value, mask=None):
        return batched_attention(query, key, value, mask)


# --- 8.2 split_heads ----------------------------------------------------------------------------


def split_view(x, n_heads):
    b, n, d = x.shape
    return x.view(b, n, n_heads, d // n_heads).permute(0, 2, 1, 3)


def split_unflatten(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).movedim(2, 1)


def split_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def split_slices(x, n_heads):
    d_k = x.size(-1) // n_heads
    heads = [x[:, :, h * d_k : (h + 1) * d_k] for h in range(n_heads)]
    return torch.cat([head.unsqueeze(1) for head in heads], dim=1)


def split_filled(x, n_heads):
    b, n, d = x.shape
    out = torch.empty(b, n_heads, n, d // n_heads, dtype=x.dtype)
    for h in range(n_heads):
        for column in range(d // n_heads):
            out[:, h, :, column] = x[:, :, h * (d // n_heads) + column]
    return out


def split_turned_first(x, n_heads):
    b, n, d = x.shape
    return x.transpose(1, 2).reshape(b, n_heads, d // n_heads, n).transpose(2, 3)


def split_einsum(x, n_heads):
    b, n, d = x.shape
    return torch.einsum("bnhd->bhnd", x.reshape(b, n, n_heads, d // n_heads))


def split_gather(x, n_heads):
    columns = torch.arange(x.shape[-1]).reshape(n_heads, -1)
    return x[:, :, columns].swapaxes(1, 2)


def split_sentence_by_sentence(x, n_heads):
    return torch.stack([torch.stack(list(sentence.tensor_split(n_heads, dim=1))) for sentence in x])


def split_contiguous(x, n_heads):
    return split_heads(x, n_heads).contiguous()


def split_strided(x, n_heads):
    x = x.contiguous()
    b, n, d = x.shape
    return x.as_strided((b, n_heads, n, d // n_heads), (n * d, d // n_heads, d, 1))


def split_with_selectors(x, n_heads):
    """A product with slices of the unit matrix."""
    unit = torch.eye(x.shape[-1], dtype=x.dtype)
    return torch.stack([x @ part.T for part in unit.chunk(n_heads)], dim=1)


def split_unfold(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return x.unfold(2, d_k, d_k).permute(0, 2, 1, 3)


# --- 8.3 merge_heads ----------------------------------------------------------------------------


def merge_flatten(x):
    return x.transpose(1, 2).flatten(2)


def merge_contiguous_view(x):
    b, h, n, d_k = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(b, n, -1)


def merge_concatenated(x):
    return torch.cat(list(x.unbind(1)), dim=-1)


def merge_loop(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], 2)


def merge_filled(x):
    b, h, n, d_k = x.shape
    out = torch.zeros(b, n, h * d_k, dtype=x.dtype)
    for head in range(h):
        out[..., head * d_k : (head + 1) * d_k] = x[:, head]
    return out


def merge_movedim(x):
    return torch.movedim(x, 1, -2).reshape(x.shape[0], x.shape[2], -1)


def merge_einsum(x):
    b, h, n, d_k = x.shape
    return torch.einsum("bhnd->bnhd", x).reshape(b, n, h * d_k)


def merge_hstack(x):
    return torch.stack([torch.hstack(list(sentence)) for sentence in x])


def merge_turned(x):
    return x.transpose(2, 3).flatten(1, 2).transpose(1, 2)


def merge_with_selectors(x):
    b, h, n, d_k = x.shape
    places = torch.eye(h * d_k, dtype=x.dtype).reshape(h, d_k, h * d_k)
    return (x @ places).sum(1)


def merge_token_by_token(x):
    return torch.stack([x[:, :, t].reshape(x.shape[0], -1) for t in range(x.shape[2])], dim=1)


def merge_index(x):
    b, h, n, d_k = x.shape
    columns = torch.arange(h * d_k)
    return x[:, columns // d_k, :, columns % d_k].movedim(0, -1)


def merge_swapaxes(x):
    return x.swapaxes(-2, -3).flatten(start_dim=-2)


# --- 8.4 attention_backward ---------------------------------------------------------------------


def backward_autograd(query, key, value, grad_output, mask=None):
    """Not by hand, and right."""
    leaves = [t.clone().requires_grad_() for t in (query, key, value)]
    output, _ = batched_attention(*leaves, mask)
    return torch.autograd.grad(output, leaves, grad_output)


def backward_pytorch(query, key, value, grad_output, mask=None):
    leaves = [t.clone().requires_grad_() for t in (query, key, value)]
    output = F.scaled_dot_product_attention(*leaves, attn_mask=mask)
    output.backward(grad_output)
    return tuple(leaf.grad for leaf in leaves)


def backward_with_jacobians(query, key, value, grad_output, mask=None):
    _, w = batched_attention(query, key, value, mask)
    jacobian = torch.diag_embed(w) - w[..., :, None] * w[..., None, :]
    upstream = grad_output @ value.mT
    grad_scores = (jacobian @ upstream[..., None])[..., 0] / query.shape[-1] ** 0.5
    return grad_scores @ key, grad_scores.mT @ query, w.mT @ grad_output


def backward_from_the_output(query, key, value, grad_output, mask=None):
    """The row's average as sum(grad_output * output)."""
    output, w = batched_attention(query, key, value, mask)
    average = (grad_output * output).sum(-1, keepdim=True)
    grad_scores = w * (grad_output @ value.mT - average)
    scale = math.sqrt(query.shape[-1])
    return grad_scores @ (key / scale), grad_scores.mT @ (query / scale), w.mT @ grad_output


def backward_einsum(query, key, value, grad_output, mask=None):
    _, w = batched_attention(query, key, value, mask)
    gv = torch.einsum("...ij,...id->...jd", w, grad_output)
    gw = torch.einsum("...id,...jd->...ij", grad_output, value)
    gs = w * gw - w * torch.einsum("...ij,...ij->...i", w, gw)[..., None]
    gs = gs * query.shape[-1] ** -0.5
    return (
        torch.einsum("...ij,...jd->...id", gs, key),
        torch.einsum("...ij,...id->...jd", gs, query),
        gv,
    )


def backward_query_by_query(query, key, value, grad_output, mask=None):
    _, weights = batched_attention(query, key, value, mask)
    gq, gk, gv = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
    for i in range(query.shape[-2]):
        w, g, q = weights[..., i, :], grad_output[..., i, :], query[..., i, :]
        gv += w[..., :, None] * g[..., None, :]
        gw = (value * g[..., None, :]).sum(-1)
        gs = w * (gw - (w * gw).sum(-1, keepdim=True)) / math.sqrt(q.shape[-1])
        gq[..., i, :] = (gs[..., :, None] * key).sum(-2)
        gk += gs[..., :, None] * q[..., None, :]
    return gq, gk, gv


def backward_in_a_list(query, key, value, grad_output, mask=None):
    return list(attention_backward(query, key, value, grad_output, mask))


def backward_wider(query, key, value, grad_output, mask=None):
    """Recompute everything, with the mask once more on the way back."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e300)
    w = scores.softmax(-1)
    if mask is not None:
        w = w * mask
    gw = grad_output @ value.mT
    gs = w * (gw - (w * gw).sum(-1, keepdim=True))
    if mask is not None:
        gs = gs.masked_fill(~mask, 0)
    gs = gs / math.sqrt(query.shape[-1])
    return gs @ key, gs.mT @ query, w.mT @ grad_output


# --- 8.5 repaired_layer -------------------------------------------------------------------------


def layer_with_pytorch(x, lengths, n_heads):
    batch, n, d_model = x.shape
    heads = x.view(batch, n, n_heads, -1).transpose(1, 2)
    mask = (torch.arange(n) < lengths[:, None])[:, None, None, :]
    output = F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask)
    return output.transpose(1, 2).flatten(2)


def layer_sentence_by_sentence(x, lengths, n_heads):
    d_k = x.shape[-1] // n_heads
    rows = []
    for sentence, length in zip(x, lengths.tolist(), strict=True):
        heads = [sentence[:, h * d_k : (h + 1) * d_k] for h in range(n_heads)]
        rows.append(
            torch.cat([batched_attention(h, h[:length], h[:length])[0] for h in heads], dim=-1)
        )
    return torch.stack(rows)


def layer_full_mask(x, lengths, n_heads):
    batch, n, _ = x.shape
    mask = torch.zeros(batch, n_heads, n, n, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, :, :, :length] = True
    heads = split_heads(x, n_heads)
    return merge_heads(batched_attention(heads, heads, heads, mask)[0])


def layer_einsum(x, lengths, n_heads):
    heads = x.unflatten(-1, (n_heads, -1))
    scores = torch.einsum("bihd,bjhd->bhij", heads, heads) / math.sqrt(heads.shape[-1])
    hidden = torch.arange(x.shape[1]) >= lengths.view(-1, 1, 1, 1)
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return torch.einsum("bhij,bjhd->bihd", weights, heads).flatten(2)


RIGHT = {
    "batched_attention": [
        batched_attention,
        attention_through_pytorch,
        attention_loop,
        attention_example_by_example,
        attention_einsum,
        attention_scaled_query,
        attention_nan_to_num,
        attention_by_logarithms,
        attention_exponentials,
        attention_flattened,
        attention_returns_a_list,
        attention_not_contiguous,
        attention_prints,
        Attention(),
        functools.partial(torch_attention.scaled_dot_product_attention),
    ],
    "split_heads": [
        split_view,
        split_unflatten,
        split_chunks,
        split_slices,
        split_filled,
        split_turned_first,
        split_einsum,
        split_gather,
        split_sentence_by_sentence,
        split_contiguous,
        split_strided,
        split_with_selectors,
        split_unfold,
        torch_attention.split_heads,
    ],
    "merge_heads": [
        merge_flatten,
        merge_contiguous_view,
        merge_concatenated,
        merge_loop,
        merge_filled,
        merge_movedim,
        merge_einsum,
        merge_hstack,
        merge_turned,
        merge_with_selectors,
        merge_token_by_token,
        merge_index,
        merge_swapaxes,
        torch_attention.merge_heads,
    ],
    "attention_backward": [
        backward_autograd,
        backward_pytorch,
        backward_with_jacobians,
        backward_from_the_output,
        backward_einsum,
        backward_query_by_query,
        backward_in_a_list,
        backward_wider,
        torch_attention.attention_backward,
    ],
    "repaired_layer": [
        layer_with_pytorch,
        layer_sentence_by_sentence,
        layer_full_mask,
        layer_einsum,
    ],
}
