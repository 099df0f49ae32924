"""Opens a checkpoint of job train in PyTorch. Needs torch and safetensors.

    logits = load("outputs/quickstart/latest/ckpt/last/model.safetensors", heads=4)(tokens)
"""
import torch
from safetensors.torch import load_file
from torch.nn import functional as F


def load(path, heads):
    """The model of tokens [6, B, T] (x, y, action, reward, landing x and y) to logits [B, T, 5]."""
    w = load_file(path)
    first = torch.tensor([0, 9, 18, 24, 27, 37]).view(6, 1, 1)  # of each field in step_embed
    blocks = sorted({name.split(".")[1] for name in w if name.startswith("blocks.")}, key=int)
    linear = lambda name, x: F.linear(x, w[name + ".weight"], w[name + ".bias"])
    norm = lambda name, x: F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"])

    def model(tokens):
        x = w["step_embed.weight"][tokens + first].sum(0) + w["position.weight"][:tokens.shape[2]]
        for block in (f"blocks.{number}." for number in blocks):
            qkv = linear(block + "attn.qkv", norm(block + "norm1", x))  # [B, T, 3 D]
            q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)  # [B, H, T, C]
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + linear(block + "attn.out", mixed.transpose(1, 2).flatten(2))
            x = x + linear(block + "mlp.down",
                           F.gelu(linear(block + "mlp.up", norm(block + "norm2", x))))
        return linear("head", norm("norm", x))

    return model
