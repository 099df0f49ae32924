"""Peer of ad_step_bench: the same training step as an eager PyTorch module.

  python3 tests/bench/ad_step_torch.py [--ours build/tests/bench/ad_step_bench] [--rounds 5]

With --ours both run in turn, A B A B ..., and one line of JSON a shape has the medians, their
ratio, and the rate of the model's products. CPU time of one thread, float32; --device cuda: wall
time. The peer has what PyTorch offers: its fused attention, fused AdamW, the whole batch at once.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

# What one rank has: conf/quickstart.yaml on one rank, conf/train_ad.yaml on 8, guide 001's model.
# Kind, layers, tokens, rows, dropout; our rows of a pass: a lane, as in the job.
SHAPES = {"quickstart": (("step", 2, 160, 32, 0.0), 8),
          "train_ad": (("step", 4, 240, 64, 0.1), 32),
          "transition": (("transition", 4, 241, 64, 0.1), 64)}
WIDTH, HEADS, INNER, GRID, ACTIONS = 64, 4, 128, 9, 5
FIELDS = [GRID, GRID, ACTIONS + 1, 3, GRID + 1, GRID + 1]


def gflop(kind, layers, tokens, rows, dropout):
    """Of a step: forward and, twice as much, backward; the causal half of the attention."""
    per_token = layers * (4 * WIDTH**2 + 2 * WIDTH * INNER + tokens * WIDTH)
    return 3 * 2 * rows * tokens * per_token / 1e9


def measure(shape, steps, options):
    import torch
    from torch import nn
    from torch.nn import functional as F

    kind, layers, tokens, rows, dropout = shape
    torch.set_num_threads(1)
    torch.set_default_device(options.device)
    torch.manual_seed(0)
    # Each step ends with loss.item(), so the clock never runs ahead of the device.
    clock, unit = ((time.process_time, "samples/cpu-s") if options.device == "cpu" else
                   (time.perf_counter, "samples/s"))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
            self.drop = nn.Dropout(dropout)

        def forward(self, x):
            q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                       for part in self.qkv(self.norm1(x)).chunk(3, -1))
            mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
            x = x + self.drop(self.out(mixed.transpose(1, 2).flatten(2)))
            return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            table = lambda size: nn.Embedding(size, WIDTH)
            self.fields = nn.ModuleList(map(table, FIELDS))
            self.context, self.query = nn.Linear(ACTIONS + 5, WIDTH), table(GRID * GRID)
            self.position = nn.Parameter(0.02 * torch.randn(tokens, WIDTH))
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
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
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.99), fused=True)
    run = torch.compile(model) if options.compile else model

    def step():
        if kind == "step":
            inputs = [torch.randint(size, (rows, tokens)) for size in FIELDS]
            targets = torch.randint(ACTIONS, (rows, tokens))
        else:
            inputs = [torch.rand(rows, tokens - 1, ACTIONS + 5), torch.randint(GRID**2, (rows,))]
            targets = torch.randint(ACTIONS, (rows,))
        optimizer.zero_grad()
        loss = F.cross_entropy(run(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    for _ in range(3):
        step()
    start = clock()
    for _ in range(steps):
        loss = step()
    rate = rows * steps / (clock() - start)
    print(json.dumps({"name": "ad_step/" + "/".join(map(str, shape)), "value": round(rate, 2),
                      "unit": unit, "loss": round(loss, 4)}))


def rate_of(command):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True,
                         env=environment)
    return json.loads(run.stdout.splitlines()[-1])["value"]


def compare(options):
    peer = [sys.executable, __file__, *(["--compile"] if options.compile else [])]
    for name, (shape, pass_rows) in SHAPES.items():
        steps = 10 if name == "quickstart" else 4
        pairs = [(rate_of([options.ours, *shape, steps, pass_rows]),
                  rate_of([*peer, *shape, steps])) for _ in range(options.rounds)]
        ours, eager = (statistics.median(column) for column in zip(*pairs))
        result = {"name": name, "ratio": round(ours / eager, 2)}
        for who, rate in ("ours", ours), ("peer", eager):
            step_s = shape[3] / rate
            result |= {f"{who}_cpu_s_per_step": round(step_s, 4),
                       f"{who}_gflop_per_cpu_s": round(gflop(*shape) / step_s, 1)}
        print(json.dumps(result), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", help="ad_step_bench, to be compared with")
    parser.add_argument("--device", default="cpu", help="of the eager step: cpu or cuda")
    parser.add_argument("--compile", action="store_true", help="torch.compile instead of eager")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("shape", nargs="*",
                        help="step|transition LAYERS TOKENS ROWS DROPOUT [STEPS]")
    return parser.parse_args()


if __name__ == "__main__":
    options = parse_arguments()
    if options.ours:
        compare(options)
    else:
        kind, layers, tokens, rows, dropout, *steps = options.shape
        measure((kind, int(layers), int(tokens), int(rows), float(dropout)),
                int(steps[0]) if steps else 6, options)
