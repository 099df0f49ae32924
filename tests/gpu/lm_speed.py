"""Compares the speed of jobs teacher and generate with plain PyTorch on the same weights.

The model is a Llama with random weights in bfloat16. run.sh calls this script, which needs no
numpy, h5py, transformers or safetensors.

  lm_speed.py make FOLDER --shape 1b|tiny     writes the model, and each run's configuration and
  rows
  lm_speed.py peer FOLDER --device cuda|cpu   does the same work in plain PyTorch: FOLDER/peer.json
  lm_speed.py compare FOLDER RUNS --to FILE   reads our RUNS/NAME/run; prints a line per entry, and
  JSON

The peer is the forward pass of transformers' Llama, module by module, with PyTorch's
scaled_dot_product_attention. It allocates a cache for each chunk. Rates are those of whole chunks
after the first, journal included. The peer is timed from its second pass on.
"""
import argparse
import json
import math
import pathlib
import sys

import curves
import lm_peer
import lm_runs


def chunk_seconds(run):
    """Returns the mean seconds between the ends of chunks after the first, from the run's log."""
    ends = [when for when, _ in curves.scalars(run, "perf/tokens_per_second").values()]
    if len(ends) < 3:
        sys.exit(f"{run}: {len(ends)} chunks are too few for a rate")
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def said_by(run):
    with open(pathlib.Path(run) / "results.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Work:
    """Counts operations and bytes from the model's shape."""

    def __init__(self, sizes):
        shapes = lm_runs.tensor_shapes(sizes)
        self.matrices = sum(math.prod(dims) for dims in shapes.values() if len(dims) == 2)
        last = f"model.layers.{sizes['num_hidden_layers'] - 1}."
        self.asking = sum(math.prod(dims) for name, dims in shapes.items()
                          if name.startswith(last) and len(dims) == 2
                          and "k_proj" not in name and "v_proj" not in name)
        self.head = sizes["vocab_size"] * sizes["hidden_size"]
        self.layers = sizes["num_hidden_layers"]
        self.queries = sizes["num_attention_heads"] * sizes["head_dim"]
        self.cached = 2 * self.layers * sizes["num_key_value_heads"] * sizes["head_dim"]

    def flops(self, tokens, heads):
        """Counts the FLOP of a forward pass of `tokens`, with the head after `heads` of them.

        There are two for each weight and token, plus scores and mixtures of the keys that a token
        sees.
        """
        attention = 2 * tokens * (tokens + 1) * self.queries * self.layers
        return 2.0 * (self.matrices - self.head) * tokens + 2.0 * self.head * heads + attention

    def spared(self, tokens):
        """Counts the part of flops() that ours skips when only a text's last state is needed.

        These are the last layer's attention and matrices, except keys and values.
        """
        attention = 2 * tokens * (tokens + 1) * self.queries
        return 2.0 * self.asking * (tokens - 1) + attention - 4 * tokens * self.queries

    def step_bytes(self, batch, context, cache_type_bytes):
        """Counts the bytes of a decoding step: all matrices once, and the cache of each
        sequence."""
        return 2.0 * self.matrices + batch * context * self.cached * cache_type_bytes


def check_same_work(folder, runs, peer):
    """Checks that the forward passes agree within the rounding of bfloat16."""
    ours = [row["prompt_log_probs"][1:] for row in said_by(runs / "score" / "run")]
    away = [abs(a - b) for x, y in zip(ours, peer["score"]["log_probs"], strict=True)
            for a, b in zip(x, y, strict=True)]
    mean = sum(away) / len(away)
    print(f"same work: log-probabilities of {len(away)} tokens are {mean:.4f} nats apart on average")
    if not mean <= 0.1:
        sys.exit("the log-probabilities differ: this is not the same work")
    ours = [row["output_ids"][0] for row in said_by(runs / "prefill" / "run")]
    same = sum(a == b[0][0] for a, b in zip(ours, peer["prefill"]["said"], strict=True))
    print(f"same work: {same} of {len(ours)} first tokens are the same")
    if not same >= 0.75 * len(ours):
        sys.exit("the first tokens differ: this is not the same work")


def compare(folder, runs, to):
    shape = (folder / "shape").read_text()
    peer = json.loads((folder / "peer.json").read_text())
    peaks, work = peer["peaks"], Work(lm_runs.SHAPES[shape]["model"])
    check_same_work(folder, runs, peer)
    lines = []

    def emit(entry, unit, ours, theirs, share, **more):
        line = {"entry": entry, "shape": shape, "ours": ours, "peer": theirs, "unit": unit,
                "ratio": ours / theirs, **share, **more, **{
                    key: peaks[key] for key in ("device", "peak")}}
        lines.append(line)
        (name, mine), (_, other) = share.items()
        print(f"{entry:10} ours {ours:12,.1f} {unit}, {100 * mine:5.2f} % {name[5:]};  "
              f"PyTorch {theirs:12,.1f}, {100 * other:5.2f} %;  ratio {ours / theirs:.2f}")

    for entry in ("teacher", "prefill"):
        run = lm_runs.SHAPES[shape]["runs"][entry]
        tokens = run["together"] * run["tokens"]
        flops = run["together"] * work.flops(run["tokens"],
                                             run["tokens"] if entry == "teacher" else 1)
        spared = run["together"] * work.spared(run["tokens"]) if entry == "prefill" else 0.0
        done = flops - spared
        mine, other = chunk_seconds(runs / entry / "run"), peer[entry]["seconds"]
        emit(entry, "tokens/s", tokens / mine, tokens / other,
             {"ours_mfu": done / mine / peaks["flops"],
              "peer_mfu": flops / other / peaks["flops"]}, tokens_of_a_text=run["tokens"])
    for entry in ("decode_1", "decode_16"):
        run = lm_runs.SHAPES[shape]["runs"][entry]
        steps = run["new"] - 1
        context = run["tokens"] + (run["new"] + 1) / 2
        mine = (chunk_seconds(runs / entry / "run") -
                chunk_seconds(runs / f"{entry}_first" / "run")) / steps
        other = (peer[entry]["seconds"] - peer[f"{entry}_first"]["seconds"]) / steps
        # Keys and values: float32 in ours, bfloat16 in the peer.
        read = [work.step_bytes(run["together"], context, size) for size in (4, 2)]
        emit(entry, "tokens/s", run["together"] / mine, run["together"] / other,
             {"ours_bandwidth": read[0] / mine / peaks["bytes"],
              "peer_bandwidth": read[1] / other / peaks["bytes"]}, batch=run["together"],
             ours_step_ms=1e3 * mine, peer_step_ms=1e3 * other)
    print(f"shares are of {peaks['flops'] / 1e12:.4g} TFLOP/s and {peaks['bytes'] / 1e9:.4g} GB/s "
          f"({peaks['device']}, {peaks['peak']})")
    with open(to, "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "peer", "compare"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("runs", type=pathlib.Path, nargs="?")
    parser.add_argument("--shape", choices=sorted(lm_runs.SHAPES), default="1b")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--to", type=pathlib.Path)
    options = parser.parse_args()
    if options.what == "make":
        lm_runs.make(options.folder, options.shape)
    elif options.what == "peer":
        peer = lm_peer.Peer(options.folder, options.device)
        found = peer.run_all() | {"peaks": peer.peaks()}
        (options.folder / "peer.json").write_text(json.dumps(found))
    else:
        compare(options.folder, options.runs, options.to)


if __name__ == "__main__":
    main()
