"""Peer of ad_step_bench: the same training step as an eager PyTorch module.

  python3 tests/bench/ad_step_torch.py [--ours build/tests/bench/ad_step_bench] [--rounds 3]

With --ours both run in turn, A B A B ..., and the ratio of the medians is printed for each
shape. Samples per second of CPU time, one thread, float32. --device cuda: of wall time.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

SHAPES = [("transition", 241, 0.1), ("transition", 241, 0.0), ("step", 160, 0.1),
          ("step", 160, 0.0)]
BATCH, WIDTH, LAYERS, HEADS, INNER, GRID, ACTIONS = 64, 64, 4, 4, 128, 9, 5


def measure(kind, tokens, dropout, steps, device="cpu"):
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.set_num_threads(1)
    torch.set_default_device(device)
    torch.manual_seed(0)
    # Each step ends with loss.item(), so the clock never runs ahead of the device.
    clock, unit = ((time.process_time, "samples/cpu-s") if device == "cpu" else
                   (time.perf_counter, "samples/s"))

    class Block(nn.Module):
        """As nn.MultiheadAttention computes where dropout is on: probabilities in memory."""

        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
            self.drop = nn.Dropout(dropout)
            self.register_buffer("mask", torch.triu(torch.full((tokens, tokens), -math.inf), 1))

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2)
                       for part in self.qkv(self.norm1(x)).chunk(3, -1))
            scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + self.mask
            mixed = self.drop(torch.softmax(scores, -1)) @ v
            mixed = mixed.transpose(1, 2).reshape(batch, length, WIDTH)
            x = x + self.drop(self.out(mixed))
            return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            table = lambda rows: nn.Embedding(rows, WIDTH)
            sizes = [GRID, GRID, ACTIONS + 1, 3, GRID + 1, GRID + 1]
            self.fields = nn.ModuleList(map(table, sizes))
            self.context, self.query = nn.Linear(ACTIONS + 5, WIDTH), table(GRID * GRID)
            self.position = nn.Parameter(0.02 * torch.randn(tokens, WIDTH))
            self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, ACTIONS)

        def forward(self, inputs):
            if kind == "step":
                x = sum(field(index) for field, index in zip(self.fields, inputs))
            else:
                x = torch.cat([self.context(inputs[0]), self.query(inputs[1])[:, None]], 1)
            x = x + self.position
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x if kind == "step" else x[:, -1]))

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.99))

    def step():
        if kind == "step":
            sizes = [GRID, GRID, ACTIONS + 1, 3, GRID + 1, GRID + 1]
            inputs = [torch.randint(size, (BATCH, tokens)) for size in sizes]
            targets = torch.randint(ACTIONS, (BATCH, tokens))
        else:
            inputs = [torch.rand(BATCH, tokens - 1, ACTIONS + 5),
                      torch.randint(GRID * GRID, (BATCH,))]
            targets = torch.randint(ACTIONS, (BATCH,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    for _ in range(2):
        step()
    start = clock()
    for _ in range(steps):
        loss = step()
    rate = BATCH * steps / (clock() - start)
    print(json.dumps({"name": f"ad_step/{kind}/{tokens}/p{dropout:g}", "value": round(rate, 2),
                      "unit": unit, "loss": round(loss, 4)}))


def rate_of(command):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(run.stdout.splitlines()[-1])["value"]


def compare(ours, rounds):
    for shape in SHAPES:
        arguments = [str(part) for part in shape]
        pairs = [(rate_of([ours, *arguments]), rate_of([sys.executable, __file__, *arguments]))
                 for _ in range(rounds)]
        mine, peer = (statistics.median(column) for column in zip(*pairs))
        print(json.dumps({"name": "ad_step/" + "/".join(arguments), "ours": mine,
                          "eager": peer, "unit": "samples/cpu-s",
                          "ratio": round(mine / peer, 2)}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours")
    parser.add_argument("--device", default="cpu", help="of the eager step: cpu or cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("shape", nargs="*", help="step|transition TOKENS DROPOUT [STEPS]")
    options = parser.parse_args()
    if options.ours:
        compare(options.ours, options.rounds)
    else:
        kind, tokens, dropout, *steps = options.shape
        measure(kind, int(tokens), float(dropout), int(steps[0]) if steps else 6,
                options.device)
