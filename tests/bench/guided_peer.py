"""Guided decoding with transformers: three loops, from which guided_generate.py starts one.

`masked` scores all candidates of a sequence in one pass. They share its cache, and a mask hides
them from each other. `repeated` repeats the cache of a sequence for each candidate at each token.
`kept` repeats it once, and from then on adds each drawn token to all copies.

All loops write into tensors that are allocated once, except for the caches of `repeated`, and pass
views of them to attention. The entries of the drawn token are copied from its candidate, so no
token is processed twice. The head of the vocabulary sees the last position only.
"""
import json
import time

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, LlamaModel
from transformers.cache_utils import Cache, CacheLayerMixin


class Buffer(CacheLayerMixin):
    """Keys and values [rows, heads, room, size] of a layer, in tensors that are allocated once."""

    def __init__(self, rows, heads, room, size):
        super().__init__()
        self.keys = torch.empty(rows, heads, room, size)
        self.values = torch.empty(rows, heads, room, size)
        self.length = 0  # tokens that stay; the caller adds those of an update() that it keeps
        self.is_initialized = True

    def lazy_initialization(self, key_states, value_states):
        pass

    def update(self, key_states, value_states, *_, **__):
        end = self.length + key_states.shape[2]
        self.keys[:, :, self.length:end] = key_states
        self.values[:, :, self.length:end] = value_states
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length):
        return self.length + query_length, 0

    def get_seq_length(self):
        return self.length

    def get_max_length(self):
        return self.keys.shape[2]

    def tensors(self):
        return self.keys, self.values


def new_cache(config, rows, room):
    heads = config.num_key_value_heads
    return Cache(layers=[Buffer(rows, heads, room, config.hidden_size // config.num_attention_heads)
                         for _ in range(config.num_hidden_layers)])


def set_length(cache, length):
    for layer in cache.layers:
        layer.length = length


class Guide:
    """Scores tokens with the value model: a backbone of transformers and a head with one output."""

    def __init__(self, folder, top_k):
        self.body = LlamaModel.from_pretrained(folder, dtype=torch.float32).eval()
        weights = load_file(f"{folder}/model.safetensors")
        self.weight, self.bias = weights["score.weight"], weights["score.bias"]
        self.top_k = top_k

    def values(self, ids, positions, mask):
        hidden = self.body(input_ids=ids, position_ids=positions, attention_mask=mask,
                           cache=self.cache, use_cache=True).last_hidden_state
        return torch.nn.functional.linear(hidden, self.weight, self.bias)[..., 0]

    def prefill(self, prompts, room):
        self.cache = new_cache(self.body.config, len(prompts), room)
        self.values(prompts, None, None)
        set_length(self.cache, prompts.shape[1])


class MaskedGuide(Guide):

    def prefill(self, prompts, room):
        super().prefill(prompts, room + self.top_k)
        # Each candidate sees the earlier tokens and itself. A view of this mask fits any length.
        self.mask = torch.ones(1, 1, self.top_k, room + self.top_k, dtype=torch.bool)
        self.mask[..., room:] = torch.eye(self.top_k, dtype=torch.bool)
        self.room = room

    def judge(self, candidates, length):
        mask = self.mask[..., self.room - length:]
        return self.values(candidates, torch.full((1, self.top_k), length), mask)

    def keep(self, choice, length):
        row = torch.arange(len(choice))
        for layer in self.cache.layers:
            for stored in layer.tensors():
                stored[:, :, length] = stored[row, :, length + choice]
        set_length(self.cache, length + 1)


def repeated(config, small, times, room):
    """Returns a cache with `times` copies of each sequence of `small`."""
    length = small.get_seq_length()
    cache = new_cache(config, len(small.layers[0].keys) * times, room)
    for mine, layer in zip(cache.layers, small.layers):
        for copies, stored in zip(mine.tensors(), layer.tensors()):
            copies.unflatten(0, (-1, times))[..., :length, :] = stored[:, None, :, :length]
    set_length(cache, length)
    return cache


class KeptGuide(Guide):

    def prefill(self, prompts, room):
        super().prefill(prompts, prompts.shape[1])
        self.cache = repeated(self.body.config, self.cache, self.top_k, room)

    def judge(self, candidates, length):
        positions = torch.full((1, 1), length)
        return self.values(candidates.reshape(-1, 1), positions, None).view(candidates.shape)

    def keep(self, choice, length):
        row = torch.arange(len(choice))
        for layer in self.cache.layers:
            for stored in layer.tensors():
                copies = stored.unflatten(0, (-1, self.top_k))[..., length, :]
                copies.copy_(copies[row, choice][:, None])
        set_length(self.cache, length + 1)


class RepeatedGuide(KeptGuide):

    def prefill(self, prompts, room):
        Guide.prefill(self, prompts, room)

    def judge(self, candidates, length):
        own = self.cache
        self.cache = repeated(self.body.config, own, self.top_k, length + 1)
        values = super().judge(candidates, length)
        self.copies, self.cache = self.cache, own
        return values

    def keep(self, choice, length):
        row = torch.arange(len(choice)) * self.top_k + choice
        for mine, layer in zip(self.cache.layers, self.copies.layers):
            for stored, copies in zip(mine.tensors(), layer.tensors()):
                stored[:, :, length] = copies[row, :, length]
        set_length(self.cache, length + 1)


def offsets_of(values, eta):
    """Returns the offsets of algorithm qsharp for the logits of a Bernoulli head."""
    softplus = torch.nn.functional.softplus
    return softplus(values + 1 / eta, threshold=1e4) - softplus(values, threshold=1e4)


def generate(model, guide, prompts, new, eta):
    """Returns token ids, KLs and gaps [rows, new] of greedy guided decoding. A gap is the logit of
    the last candidate minus that of the best other token."""
    cache = new_cache(model.config, len(prompts), prompts.shape[1] + new)
    guide.prefill(prompts, prompts.shape[1] + new)
    ids = torch.empty(len(prompts), new, dtype=torch.long)
    kls = torch.empty(len(prompts), new, dtype=torch.float64)
    gaps = torch.empty(len(prompts), new)
    step, length = prompts, prompts.shape[1]
    set_length(cache, 0)
    for i in range(new):
        hidden = model.model(input_ids=step, cache=cache, use_cache=True).last_hidden_state
        set_length(cache, length)
        logits = model.lm_head(hidden[:, -1])
        best, candidates = logits.topk(guide.top_k + 1)
        gaps[:, i] = best[:, -2] - best[:, -1]
        best, candidates = best[:, :-1], candidates[:, :-1]
        offsets = offsets_of(guide.judge(candidates, length), eta)
        choice = (best + offsets).argmax(1)
        p = (best - logits.logsumexp(1, keepdim=True)).double().exp()
        growth = (p * offsets.double().expm1()).sum(1)  # of the sum of all probabilities
        gained = (p * offsets.double().exp() * offsets).sum(1) / (1 + growth)
        kls[:, i] = gained - growth.log1p()
        step = candidates.gather(1, choice[:, None])
        ids[:, i] = step[:, 0]
        if i + 1 < new:
            guide.keep(choice, length)
        length += 1
    return ids, kls, gaps


def main(args, batches):
    """Prints CPU seconds of a batch, and the tokens, KLs and gaps of all, as JSON."""
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(args.folder / "model", dtype=torch.float32).eval()
    kind = {"masked": MaskedGuide, "repeated": RepeatedGuide, "kept": KeptGuide}[args.peer]
    guide = kind(args.folder / "guide", args.top_k)
    with torch.inference_mode():
        generate(model, guide, torch.tensor(batches[0]), 2, args.eta)
        begin = time.process_time()
        found = [generate(model, guide, torch.tensor(batch), args.new, args.eta)
                 for batch in batches]
        seconds = (time.process_time() - begin) / len(batches)
    ids, kls, gaps = (torch.cat(parts).tolist() for parts in zip(*found))
    print(json.dumps({"seconds": seconds, "ids": ids, "kl": kls, "gap": gaps}))
