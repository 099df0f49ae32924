"""Makes goldens of the Algorithm Distillation transformer from plain PyTorch in float64.

  python3 tests/oracle/ad_transformer.py tests/ad/goldens

Made with torch 2.11.0 on the CPU. Writes ad_step.bin and ad_transition.bin as concatenated
little-endian float32 values: loss; logits; gradients of all parameters; all parameters after three
AdamW steps on the same batch. Parameters are in the order of PARAMETERS.

Weights and inputs are integer formulas, so the C++ test can make the same ones.
"""
import math
import pathlib
import struct
import sys

import torch

B, T, D, H, LAYERS, INNER, GRID, ACTIONS = 3, 12, 16, 2, 2, 24, 4, 5
# A large epsilon, because the keys' bias has gradient 0 and AdamW would magnify its rounding.
SMOOTHING, LR, BETAS, EPS, DECAY, CLIP = 0.1, 1e-2, (0.9, 0.99), 1e-3, 0.1, 0.5
FIELDS = [GRID, GRID, ACTIONS + 1, 3, GRID + 1, GRID + 1]  # x y action reward landing-x landing-y


def parameters(kind):
    if kind == "step":
        shapes = {"step_embed.weight": (sum(FIELDS), D)}
    else:
        shapes = {"transition_embed.weight": (D, ACTIONS + 5), "transition_embed.bias": (D,),
                  "query_embed.weight": (GRID * GRID, D)}
    shapes["position.weight"] = (T, D)
    for n in range(LAYERS):
        for name, shape in [("norm1", (D,)), ("attn.qkv", (3 * D, D)), ("attn.out", (D, D)),
                            ("norm2", (D,)), ("mlp.up", (INNER, D)), ("mlp.down", (D, INNER))]:
            shapes[f"blocks.{n}.{name}.weight"] = shape
            shapes[f"blocks.{n}.{name}.bias"] = shape[:1]
    shapes |= {"norm.weight": (D,), "norm.bias": (D,), "head.weight": (ACTIONS, D),
               "head.bias": (ACTIONS,)}
    tensors = {}
    for k, (name, shape) in enumerate(shapes.items()):
        i = torch.arange(math.prod(shape))
        value = ((i * 7919 + k * 104729) % 2001 - 1000).double() / 4000  # in +-0.25
        if "norm" in name and name.endswith("weight"):
            value = value + 1
        # The C++ model has float32, so start from the same values.
        tensors[name] = value.float().double().reshape(shape).requires_grad_(True)
    return tensors


def numbers(size, salt, *shape):
    i = torch.arange(math.prod(shape))
    return ((i * 31 + salt * 17 + i // 7) % size).reshape(shape)


def norm(x, w, b):
    centered = x - x.mean(-1, keepdim=True)
    return centered / torch.sqrt((centered ** 2).mean(-1, keepdim=True) + 1e-5) * w + b


def trunk(p, x):
    x = x + p["position.weight"][: x.shape[1]]
    length, width = x.shape[1], D // H
    future = torch.ones(length, length).triu(1).bool()
    for n in range(LAYERS):
        w = lambda name: (p[f"blocks.{n}.{name}.weight"], p[f"blocks.{n}.{name}.bias"])
        apply = lambda v, name: v @ w(name)[0].T + w(name)[1]
        qkv = apply(norm(x, *w("norm1")), "attn.qkv")
        heads = []
        for h in range(H):
            q, k, v = (qkv[..., part * D + h * width: part * D + (h + 1) * width]
                       for part in range(3))
            scores = (q @ k.transpose(1, 2) / math.sqrt(width)).masked_fill(future, -math.inf)
            heads.append(torch.softmax(scores, -1) @ v)
        x = x + apply(torch.cat(heads, -1), "attn.out")
        up = apply(norm(x, *w("norm2")), "mlp.up")
        x = x + apply(0.5 * up * (1 + torch.erf(up / math.sqrt(2))), "mlp.down")
    return norm(x, p["norm.weight"], p["norm.bias"])


def logits_and_targets(kind, p):
    if kind == "step":
        first, x = 0, 0
        for f, size in enumerate(FIELDS):
            x = x + p["step_embed.weight"][first + numbers(size, f, B, T)]
            first += size
        targets = numbers(ACTIONS, 9, B, T).clone()
        targets[0, :3] = -100
        hidden = trunk(p, x)
    else:
        context = T - 1
        raw = numbers(GRID, 1, B, context, ACTIONS + 5).double()
        lengths = [context, 4, 0]
        x = torch.zeros(B, T, D, dtype=torch.float64)
        x[:, :context] = raw @ p["transition_embed.weight"].T + p["transition_embed.bias"]
        for b, length in enumerate(lengths):
            x[b, length] = p["query_embed.weight"][numbers(GRID * GRID, 2, B)[b]]
        targets = numbers(ACTIONS, 3, B)
        hidden = trunk(p, x)[torch.arange(B), lengths]
    return hidden @ p["head.weight"].T + p["head.bias"], targets


def loss_of(logits, targets):
    """Returns the mean loss over the targets that are not -100."""
    logp = logits - torch.logsumexp(logits, -1, keepdim=True)
    counts = targets != -100
    picked = logp.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    each = (1 - SMOOTHING) * picked + SMOOTHING * logp.mean(-1)
    return -(each * counts).sum() / counts.sum()


def run(kind):
    p = parameters(kind)
    decayed = [v for v in p.values() if v.dim() == 2]
    plain = [v for v in p.values() if v.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY},
                                   {"params": plain, "weight_decay": 0.0}], lr=LR, betas=BETAS, eps=EPS)
    values = []
    for step in range(3):
        optimizer.zero_grad()
        logits, targets = logits_and_targets(kind, p)
        loss = loss_of(logits, targets)
        loss.backward()
        if step == 0:
            values += [loss, logits] + [v.grad.clone() for v in p.values()]
        torch.nn.utils.clip_grad_norm_(p.values(), CLIP)
        optimizer.step()
    values += list(p.values())
    flat = torch.cat([v.detach().flatten() for v in values]).tolist()
    return struct.pack(f"<{len(flat)}f", *flat)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("step", "transition"):
        (folder / f"ad_{kind}.bin").write_bytes(run(kind))
