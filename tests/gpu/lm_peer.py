"""Makes the runs of lm_speed.py in plain PyTorch."""
import json
import math
import struct
import time

import lm_runs

# From NVIDIA's data sheets: dense bfloat16 FLOP/s and bytes/s of memory.
PEAKS = (("H200", 989.4e12, 4.8e12), ("H100 80GB HBM3", 989.4e12, 3.35e12),
         ("A100-SXM4-80GB", 312e12, 2.039e12), ("A100 80GB PCIe", 312e12, 1.935e12),
         ("A100-SXM4-40GB", 312e12, 1.555e12))


class Llama:
    """Forward pass of LlamaForCausalLM; a layer's cache is [B, key heads, tokens, head_dim]."""

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
        """Returns the rotary frequencies of rope_type llama3."""
        torch, half = self.torch, self.sizes["head_dim"] // 2
        rope = lm_runs.ROPE
        plain = 500000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        waves = 2 * math.pi / plain
        low = rope["original_max_position_embeddings"] / rope["low_freq_factor"]
        high = rope["original_max_position_embeddings"] / rope["high_freq_factor"]
        share = (rope["original_max_position_embeddings"] / waves - rope["low_freq_factor"]) / \
            (rope["high_freq_factor"] - rope["low_freq_factor"])
        mixed = (1 - share) * plain / rope["factor"] + share * plain
        return torch.where(waves > low, plain / rope["factor"],
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
        """Returns states after the last norm, [B, T, D], of tokens after `seen` cached ones."""
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
    """Makes our runs in plain PyTorch, chunk by chunk. Times are seconds per chunk."""

    def __init__(self, folder, device):
        import torch
        self.torch, self.device = torch, device
        self.model = Llama(folder, device)
        self.runs = lm_runs.SHAPES[(folder / "shape").read_text()]["runs"]

    def chunks(self, name):
        run = self.runs[name]
        ids = lm_runs.ids_of(run, self.model.sizes["vocab_size"])
        ids = self.torch.tensor(ids, device=self.device)
        return ids.split(run["together"])

    def timed(self, work, chunks):
        """Returns the mean seconds of work(chunk) after the first chunk, and each result."""
        results, begin = [], 0.0
        for place, chunk in enumerate(chunks):
            results.append(work(chunk))
            if self.device == "cuda":
                self.torch.cuda.synchronize()
            if place == 0:
                begin = time.monotonic()
        return (time.monotonic() - begin) / (len(chunks) - 1), results

    def score(self, ids):
        """Returns the log-probabilities of all tokens except the first."""
        logits = self.model.logits(self.model.hidden(ids))[:, :-1].float()
        return logits.log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0].tolist()

    def teach(self, ids):
        """Computes whole logits and their log-softmax, and copies the best to the host."""
        logits = self.model.logits(self.model.hidden(ids)).float()
        best, places = logits.log_softmax(-1).topk(lm_runs.TOP_K, -1)
        return best.half().cpu(), places.int().cpu()

    def complete(self, ids, new):
        """Returns greedy tokens, and the log-probability of the first."""
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
        """Returns the device's peak FLOP/s and bytes/s, and the source of these figures."""
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
