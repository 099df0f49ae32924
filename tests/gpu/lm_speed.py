"""How fast jobs teacher and generate are with a Llama of random weights in bfloat16, beside plain
PyTorch on the same weights: run.sh calls this. No numpy, h5py, transformers or safetensors.

  lm_speed.py make FOLDER --shape 1b|tiny     the model, and configuration and rows of each run
  lm_speed.py peer FOLDER --device cuda|cpu   the same work in plain PyTorch: FOLDER/peer.json
  lm_speed.py compare FOLDER RUNS --to FILE   RUNS/NAME/run are ours: a line per entry, and JSON

The peer is the forward pass of transformers' Llama, module by module, with PyTorch's
scaled_dot_product_attention; its cache is allocated once. Rates are those of whole chunks behind
the first, journal included; the peer's second pass on is timed.
"""
import argparse
import ctypes
import json
import math
import pathlib
import struct
import sys
import time

import curves

ROPE = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192}
# 1b: the sizes of Llama-3.2-1B. rows of a chunk go together; the first chunk is not timed.
SHAPES = {
    "1b": {"model": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                         num_attention_heads=32, num_key_value_heads=8, head_dim=64,
                         vocab_size=128256),
           "runs": {"score": dict(rows=8, together=4, tokens=256, new=0),
                    "teacher": dict(rows=96, together=16, tokens=1024, new=0),
                    "prefill": dict(rows=48, together=8, tokens=1024, new=1),
                    "decode_1_first": dict(rows=4, together=1, tokens=128, new=1),
                    "decode_1": dict(rows=4, together=1, tokens=128, new=257),
                    "decode_16_first": dict(rows=64, together=16, tokens=128, new=1),
                    "decode_16": dict(rows=64, together=16, tokens=128, new=257)}},
    "tiny": {"model": dict(hidden_size=64, intermediate_size=160, num_hidden_layers=2,
                           num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                           vocab_size=512),
             "runs": {"score": dict(rows=8, together=4, tokens=32, new=0),
                      "teacher": dict(rows=48, together=8, tokens=64, new=0),
                      "prefill": dict(rows=48, together=8, tokens=64, new=1),
                      "decode_1_first": dict(rows=8, together=1, tokens=16, new=1),
                      "decode_1": dict(rows=8, together=1, tokens=16, new=65),
                      "decode_16_first": dict(rows=64, together=16, tokens=16, new=1),
                      "decode_16": dict(rows=64, together=16, tokens=16, new=65)}},
}
TOP_K = 64
# What NVIDIA's data sheets say: dense bfloat16 FLOP/s and bytes/s of memory.
PEAKS = (("H200", 989.4e12, 4.8e12), ("H100 80GB HBM3", 989.4e12, 3.35e12),
         ("A100-SXM4-80GB", 312e12, 2.039e12), ("A100 80GB PCIe", 312e12, 1.935e12),
         ("A100-SXM4-40GB", 312e12, 1.555e12))


def ids_of(run, vocab):
    return [[3 + (row * 131 + t * t * 7 + t * 29) % (vocab - 3) for t in range(run["tokens"])]
            for row in range(run["rows"])]


# --- the model and what is done with it -----------------------------------------------------

def tensor_shapes(model):
    width, inner = model["hidden_size"], model["intermediate_size"]
    queries = model["num_attention_heads"] * model["head_dim"]
    keys = model["num_key_value_heads"] * model["head_dim"]
    shapes = {"model.embed_tokens.weight": (model["vocab_size"], width)}
    for layer in range(model["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        shapes |= {name + "input_layernorm.weight": (width,),
                   name + "self_attn.q_proj.weight": (queries, width),
                   name + "self_attn.k_proj.weight": (keys, width),
                   name + "self_attn.v_proj.weight": (keys, width),
                   name + "self_attn.o_proj.weight": (width, queries),
                   name + "post_attention_layernorm.weight": (width,),
                   name + "mlp.gate_proj.weight": (inner, width),
                   name + "mlp.up_proj.weight": (inner, width),
                   name + "mlp.down_proj.weight": (width, inner)}
    return shapes | {"model.norm.weight": (width,)}


def make(folder, shape):
    """A folder as transformers writes it, tied, with weights wide enough that best tokens are
    rarely decided by rounding; a configuration and a file of rows for each run."""
    import torch
    folder.mkdir(parents=True, exist_ok=True)
    sizes = SHAPES[shape]["model"]
    (folder / "config.json").write_text(json.dumps(sizes | {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "rms_norm_eps": 1e-5, "max_position_embeddings": 131072, "rope_theta": 500000.0,
        "rope_scaling": ROPE, "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": True, "torch_dtype": "bfloat16"}))
    header, end = {}, 0
    for name, dims in tensor_shapes(sizes).items():
        begin, end = end, end + 2 * math.prod(dims)
        header[name] = {"dtype": "BF16", "shape": list(dims), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for dims in tensor_shapes(sizes).values():
            tensor = torch.ones(dims) if len(dims) == 1 else \
                torch.randn(dims, device=where).mul_(0.02 if shape == "1b" else 0.08)
            if dims[0] == sizes["vocab_size"]:
                tensor.mul_(4.0 if shape == "1b" else 1.0)
            tensor = tensor.to(torch.bfloat16).cpu().contiguous()
            file.write((ctypes.c_char * (2 * tensor.numel())).from_address(tensor.data_ptr()))
    (folder / "shape").write_text(shape)
    for name, run in SHAPES[shape]["runs"].items():
        with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as rows:
            for ids in ids_of(run, sizes["vocab_size"]):
                rows.write(json.dumps({"token_ids": ids}) + "\n")
        (folder / f"{name}.yaml").write_text(config_of(folder, name, run))


def config_of(folder, name, run):
    sections = {"run": {"name": name, "chunk_size": run["together"], "schedule": "static"},
                "model": {"path": folder.resolve(), "dtype": "bfloat16"},
                "data": {"path": (folder / f"{name}.jsonl").resolve()},
                "report": {"html": "false"}}
    job = "teacher" if name == "teacher" else "generate"
    if job == "teacher":
        sections["data"]["max_length"] = run["tokens"]
        sections[job] = {"top_k": TOP_K, "batch_size": run["together"]}
    else:
        sections[job] = {"max_new_tokens": run["new"], "batch_size": run["together"]}
        if run["new"] > 0:
            sections[job] |= {"do_sample": "false", "prompt_log_probs": "false"}
    text = f"schema: 1\njob: {job}\n"
    for section, keys in sections.items():
        text += f"{section}:\n" + "".join(f"  {key}: {value}\n" for key, value in keys.items())
    return text


# --- the peer -------------------------------------------------------------------------------

class Llama:
    """LlamaForCausalLM's forward pass; a layer's cache is [B, key heads, tokens, head_dim]."""

    def __init__(self, folder, device):
        import torch
        self.torch, self.device = torch, device
        self.sizes = json.loads((folder / "config.json").read_text())
        path = folder / "model.safetensors"
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
        whole = torch.from_file(str(path), size=path.stat().st_size, dtype=torch.uint8)
        self.weights = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            raw = whole[8 + length + begin:8 + length + end].clone()
            self.weights[name] = raw.view(torch.bfloat16).view(entry["shape"]).to(device)
        self.frequencies = self._frequencies()

    def _frequencies(self):
        """Rotary frequencies of rope_type llama3."""
        torch, half = self.torch, self.sizes["head_dim"] // 2
        plain = 500000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        waves = 2 * math.pi / plain
        low = ROPE["original_max_position_embeddings"] / ROPE["low_freq_factor"]
        high = ROPE["original_max_position_embeddings"] / ROPE["high_freq_factor"]
        share = (ROPE["original_max_position_embeddings"] / waves - ROPE["low_freq_factor"]) / \
            (ROPE["high_freq_factor"] - ROPE["low_freq_factor"])
        mixed = (1 - share) * plain / ROPE["factor"] + share * plain
        return torch.where(waves > low, plain / ROPE["factor"],
                           torch.where(waves < high, plain, mixed)).to(self.device)

    def _norm(self, x, weight):
        y = x.float()
        y = y * self.torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
        return weight * y.to(x.dtype)

    def _rotate(self, x, cosine, sine):
        a, b = x.chunk(2, -1)
        return x * cosine + self.torch.cat((-b, a), -1) * sine

    def make_cache(self, batch, tokens):
        shape = (batch, self.sizes["num_key_value_heads"], tokens, self.sizes["head_dim"])
        return [tuple(self.torch.empty(shape, dtype=self.torch.bfloat16, device=self.device)
                      for _ in range(2)) for _ in range(self.sizes["num_hidden_layers"])]

    def hidden(self, ids, cache=None, seen=0):
        """States behind the last norm, [B, T, D], of tokens behind `seen` ones in the cache."""
        F = self.torch.nn.functional
        batch, count = ids.shape
        width = self.sizes["head_dim"]
        places = self.torch.arange(seen, seen + count, device=self.device, dtype=self.torch.float32)
        angles = places[:, None] * self.frequencies
        angles = self.torch.cat((angles, angles), -1)
        cosine, sine = angles.cos().to(self.torch.bfloat16), angles.sin().to(self.torch.bfloat16)
        x = F.embedding(ids, self.weights["model.embed_tokens.weight"])
        for layer in range(self.sizes["num_hidden_layers"]):
            part = {name: self.weights[f"model.layers.{layer}.{name}.weight"] for name in (
                "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
                "mlp.down_proj")}
            y = self._norm(x, part["input_layernorm"])
            q, k, v = (F.linear(y, part[f"self_attn.{name}_proj"])
                       .view(batch, count, -1, width).transpose(1, 2) for name in "qkv")
            q, k = self._rotate(q, cosine, sine), self._rotate(k, cosine, sine)
            if cache is not None:
                for whole, new in zip(cache[layer], (k, v)):
                    whole[:, :, seen:seen + count] = new
                k, v = (whole[:, :, :seen + count] for whole in cache[layer])
            y = F.scaled_dot_product_attention(q, k, v, is_causal=count > 1, enable_gqa=True)
            y = y.transpose(1, 2).reshape(batch, count, -1)
            x = x + F.linear(y, part["self_attn.o_proj"])
            y = self._norm(x, part["post_attention_layernorm"])
            y = F.silu(F.linear(y, part["mlp.gate_proj"])) * F.linear(y, part["mlp.up_proj"])
            x = x + F.linear(y, part["mlp.down_proj"])
        return self._norm(x, self.weights["model.norm.weight"])

    def logits(self, states):
        return self.torch.nn.functional.linear(states, self.weights["model.embed_tokens.weight"])


class Peer:
    """The runs of ours in plain PyTorch, chunk by chunk. Times are seconds of a chunk."""

    def __init__(self, folder, device):
        import torch
        self.torch, self.device = torch, device
        self.model = Llama(folder, device)
        self.runs = SHAPES[(folder / "shape").read_text()]["runs"]

    def chunks(self, name):
        run = self.runs[name]
        ids = self.torch.tensor(ids_of(run, self.model.sizes["vocab_size"]), device=self.device)
        return ids.split(run["together"])

    def timed(self, work, chunks):
        """Mean seconds of work(chunk) behind the first, and what it gave for each."""
        results, begin = [], 0.0
        for place, chunk in enumerate(chunks):
            results.append(work(chunk))
            if self.device == "cuda":
                self.torch.cuda.synchronize()
            if place == 0:
                begin = time.monotonic()
        return (time.monotonic() - begin) / (len(chunks) - 1), results

    def score(self, ids):
        """Log-probabilities of all tokens but the first."""
        logits = self.model.logits(self.model.hidden(ids))[:, :-1].float()
        return logits.log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0].tolist()

    def teach(self, ids):
        """As guide 004: whole logits, log-softmax, the best of it to the host."""
        logits = self.model.logits(self.model.hidden(ids)).float()
        best, places = logits.log_softmax(-1).topk(TOP_K, -1)
        return best.half().cpu(), places.int().cpu()

    def complete(self, ids, new):
        """Greedy tokens, and the log-probability of the first."""
        cache = self.model.make_cache(ids.shape[0], ids.shape[1] + new)
        states = self.model.hidden(ids, cache)[:, -1]
        said, first = [], None
        for step in range(new):
            logits = self.model.logits(states).float()
            best = logits.argmax(-1, keepdim=True)
            if step == 0:
                first = logits.log_softmax(-1).gather(-1, best)[:, 0].tolist()
            said.append(best)
            if step + 1 < new:
                states = self.model.hidden(best, cache, ids.shape[1] + step)[:, -1]
        return list(zip(self.torch.cat(said, 1).tolist(), first))

    def run_all(self):
        found = {}
        with self.torch.inference_mode():
            seconds, scores = self.timed(self.score, self.chunks("score"))
            found["score"] = {"log_probs": [row for chunk in scores for row in chunk]}
            seconds, _ = self.timed(self.teach, self.chunks("teacher"))
            found["teacher"] = {"seconds": seconds}
            for name in self.runs:
                if name in found:
                    continue
                seconds, said = self.timed(
                    lambda ids, new=self.runs[name]["new"]: self.complete(ids, new),
                    self.chunks(name))
                found[name] = {"seconds": seconds, "said": [row for chunk in said for row in chunk]}
        return found

    def peaks(self):
        """FLOP/s and bytes/s that the device could do, and where that is known from."""
        name = self.torch.cuda.get_device_name() if self.device == "cuda" else "CPU"
        for part, flops, rate in PEAKS:
            if part in name:
                return {"device": name, "flops": flops, "bytes": rate, "peak": "data sheet"}
        side, count = (8192, 1 << 30) if self.device == "cuda" else (1024, 1 << 26)
        kind = self.torch.bfloat16 if self.device == "cuda" else self.torch.float32
        a = self.torch.ones((side, side), dtype=kind, device=self.device)
        b = self.torch.ones(count, dtype=self.torch.uint8, device=self.device)
        c = self.torch.empty_like(b)
        product, _ = self.timed(lambda _: a @ a, range(6))
        copy, _ = self.timed(lambda _: c.copy_(b), range(6))
        return {"device": name, "flops": 2.0 * side**3 / product, "bytes": 2.0 * count / copy,
                "peak": "measured: a product, a copy"}


# --- both beside each other -----------------------------------------------------------------

def chunk_seconds(run):
    """Mean seconds between the ends of chunks behind the first, as the run's log has them."""
    ends = [when for when, _ in curves.scalars(run, "perf/tokens_per_second").values()]
    if len(ends) < 3:
        sys.exit(f"{run}: {len(ends)} chunks are too few for a rate")
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def said_by(run):
    with open(pathlib.Path(run) / "results.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Work:
    """Operations and bytes that the model's shape asks for."""

    def __init__(self, sizes):
        shapes = tensor_shapes(sizes)
        self.matrices = sum(math.prod(dims) for dims in shapes.values() if len(dims) == 2)
        self.head = sizes["vocab_size"] * sizes["hidden_size"]
        self.layers = sizes["num_hidden_layers"]
        self.queries = sizes["num_attention_heads"] * sizes["head_dim"]
        self.cached = 2 * self.layers * sizes["num_key_value_heads"] * sizes["head_dim"]

    def flops(self, tokens, heads):
        """Of a forward pass of a text of `tokens`, with the head behind `heads` of them: two for
        each weight and token; scores and mixtures of the keys that a token sees."""
        attention = 2 * tokens * (tokens + 1) * self.queries * self.layers
        return 2.0 * (self.matrices - self.head) * tokens + 2.0 * self.head * heads + attention

    def step_bytes(self, batch, context, cache_type_bytes):
        """That a step of decoding reads: all matrices once, and the cache of each sequence."""
        return 2.0 * self.matrices + batch * context * self.cached * cache_type_bytes


def check_same_work(folder, runs, peer):
    """The forward passes agree within what bfloat16 rounds."""
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
    peaks, work = peer["peaks"], Work(SHAPES[shape]["model"])
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
        run = SHAPES[shape]["runs"][entry]
        tokens = run["together"] * run["tokens"]
        flops = run["together"] * work.flops(run["tokens"],
                                             run["tokens"] if entry == "teacher" else 1)
        mine, other = chunk_seconds(runs / entry / "run"), peer[entry]["seconds"]
        emit(entry, "tokens/s", tokens / mine, tokens / other,
             {"ours_mfu": flops / mine / peaks["flops"],
              "peer_mfu": flops / other / peaks["flops"]}, tokens_of_a_text=run["tokens"])
    for entry in ("decode_1", "decode_16"):
        run = SHAPES[shape]["runs"][entry]
        steps = run["new"] - 1
        context = run["tokens"] + (run["new"] + 1) / 2
        mine = (chunk_seconds(runs / entry / "run") -
                chunk_seconds(runs / f"{entry}_first" / "run")) / steps
        other = (peer[entry]["seconds"] - peer[f"{entry}_first"]["seconds"]) / steps
        # Keys and values: float32 of ours, bfloat16 of the peer's.
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
    parser.add_argument("--shape", choices=sorted(SHAPES), default="1b")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--to", type=pathlib.Path)
    options = parser.parse_args()
    if options.what == "make":
        make(options.folder, options.shape)
    elif options.what == "peer":
        peer = Peer(options.folder, options.device)
        found = peer.run_all() | {"peaks": peer.peaks()}
        (options.folder / "peer.json").write_text(json.dumps(found))
    else:
        compare(options.folder, options.runs, options.to)


if __name__ == "__main__":
    main()
