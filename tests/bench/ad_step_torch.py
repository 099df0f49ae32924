"""Peer of ad_step_bench: makes the same training step with an eager PyTorch module.

  python3 tests/bench/ad_step_torch.py [--compile] [--device cuda] \\
      step|transition LAYERS TOKENS ROWS DROPOUT [STEPS [PASS_ROWS [no|fp16|bf16]]]

Prints one line of JSON: samples per second, and as "check" the loss after two steps without
dropout. It measures CPU time of one thread, or with --device cuda wall time. The peer uses
PyTorch's fused attention, fused AdamW, and automatic mixed precision.
"""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, INNER, GRID, ACTIONS = 64, 4, 128, 9, 5
FIELDS = [GRID, GRID, ACTIONS + 1, 3, GRID + 1, GRID + 1]
TYPES = {"no": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class Block(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1))
        dropout = self.drop.p if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        x = x + self.drop(self.out(mixed.transpose(1, 2).flatten(2)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Model(nn.Module):
    """The model of ad_step_bench, with parameters in the same order."""

    def __init__(self, options):
        super().__init__()
        self.is_step = options.kind == "step"
        if self.is_step:
            self.fields = nn.ModuleList(nn.Embedding(size, WIDTH) for size in FIELDS)
        else:
            self.context = nn.Linear(ACTIONS + 5, WIDTH)
            self.query = nn.Embedding(GRID * GRID, WIDTH)
        self.position = nn.Embedding(options.tokens, WIDTH)
        self.blocks = nn.ModuleList(Block(options.dropout) for _ in range(options.layers))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, ACTIONS)

    def forward(self, inputs):
        if self.is_step:
            x = sum(field(index) for field, index in zip(self.fields, inputs))
        else:
            x = torch.cat([self.context(inputs[0]), self.query(inputs[1])[:, None]], 1)
        x = x + self.position.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x if self.is_step else x[:, -1]))


def set_weights(model):
    """Makes weights in +-0.25 (1 +- 0.25 for a norm's scale) by their place among all weights."""
    first = 0
    for module in model.modules():
        for name, weight in module.named_parameters(recurse=False):
            i = torch.arange(first, first + weight.numel())
            value = ((i * 7919) % 2001 - 1000).double() / 4000
            is_scale = isinstance(module, nn.LayerNorm) and name == "weight"
            weight.data.copy_((value + is_scale).reshape(weight.shape))
            first += weight.numel()


def numbers(size, salt, *shape):
    """Returns integers below `size` that depend on their index and on `salt`."""
    i = torch.arange(torch.Size(shape).numel())
    return ((i * 31 + salt * 17 + i // 7) % size).reshape(shape)


def batch(options):
    rows, tokens = options.rows, options.tokens
    if options.kind == "step":
        return ([numbers(size, salt, rows, tokens) for salt, size in enumerate(FIELDS)],
                numbers(ACTIONS, 9, rows, tokens))
    context = numbers(GRID, 0, rows, tokens - 1, ACTIONS + 5).float()
    return [context, numbers(GRID * GRID, 1, rows)], numbers(ACTIONS, 9, rows)


def make_step(model, options):
    """Returns a function that trains a module by a step and returns its loss before the update."""
    inputs, targets = batch(options)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01},
                                   {"params": others, "weight_decay": 0.0}],
                                  lr=3e-4, betas=(0.9, 0.99), fused=True)
    kind = TYPES[options.compute]
    scaler = torch.amp.GradScaler(options.device, enabled=kind == torch.float16)

    def step(module):
        optimizer.zero_grad()
        total = 0.0
        for row in range(0, options.rows, options.pass_rows):
            part = slice(row, row + options.pass_rows)
            with torch.autocast(options.device, kind, enabled=kind != torch.float32):
                logits = module([field[part] for field in inputs])
            loss = F.cross_entropy(logits.float().flatten(0, -2), targets[part].flatten(),
                                   reduction="sum") / targets.numel()
            scaler.scale(loss).backward()
            total += loss.item()  # waits for the device, so the clock includes its work
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return total

    return step


def measure(options):
    torch.set_num_threads(1)
    torch.set_default_device(options.device)
    clock, unit = ((time.process_time, "samples/cpu-s") if options.device == "cpu" else
                   (time.perf_counter, "samples/s"))
    model = Model(options)
    set_weights(model)
    step = make_step(model, options)
    model.eval()  # no dropout
    for _ in range(3):
        check = step(model)
    model.train()
    module = torch.compile(model) if options.compile else model
    step(module)
    start = clock()
    for _ in range(options.steps):
        step(module)
    rate = options.rows * options.steps / (clock() - start)
    name = "ad_step, PyTorch " + ("compiled" if options.compile else "eager")
    print(json.dumps({"name": name, "value": round(rate, 2), "unit": unit,
                      "check": round(check, 6)}))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--compile", action="store_true", help="torch.compile instead of eager")
    parser.add_argument("kind", choices=["step", "transition"])
    for name in "layers", "tokens", "rows":
        parser.add_argument(name, type=int)
    parser.add_argument("dropout", type=float)
    parser.add_argument("steps", type=int, nargs="?", default=6)
    parser.add_argument("pass_rows", type=int, nargs="?")
    parser.add_argument("compute", nargs="?", default="no", choices=TYPES)
    options = parser.parse_args()
    options.pass_rows = options.pass_rows or options.rows
    return options


if __name__ == "__main__":
    measure(parse_arguments())
