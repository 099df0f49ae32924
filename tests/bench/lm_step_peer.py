"""Peer of lm_step_bench: makes the same training step with transformers' model in PyTorch.

  python3 tests/bench/lm_step_peer.py FOLDER make | make_gpt_oss
  python3 tests/bench/lm_step_peer.py FOLDER ROWS TOKENS [STEPS [no|fp16|bf16]] [--compile]

`make` writes the folder: a random Llama of 15 million parameters (384 x 6 layers, 8192 tokens).
`make_gpt_oss` writes one with 4 layers of 32 experts, 4 of them used. Otherwise it prints one line
of JSON: tokens per second of CPU time of one thread, and as "check" the loss after two steps. The
peer uses PyTorch's fused attention (gpt_oss has only the eager one), fused AdamW, and automatic
mixed precision.
"""
import argparse
import json
import time

import torch
from transformers import AutoConfig, AutoModelForCausalLM, GptOssConfig, LlamaConfig

TYPES = {"no": None, "fp16": torch.float16, "bf16": torch.bfloat16}
CHECK_STEPS = 3


def make(folder):
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=8192, hidden_size=384, intermediate_size=1024,
                         num_hidden_layers=6, num_attention_heads=6, num_key_value_heads=6,
                         max_position_embeddings=2048, tie_word_embeddings=False)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)


def make_gpt_oss(folder):
    torch.manual_seed(0)
    config = GptOssConfig(vocab_size=8192, hidden_size=384, intermediate_size=384,
                          num_hidden_layers=4, num_attention_heads=6, num_key_value_heads=2,
                          head_dim=64, num_local_experts=32, num_experts_per_tok=4,
                          max_position_embeddings=2048, sliding_window=128)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)


def batch_of(rows, tokens, vocab):
    i = torch.arange(tokens + 1)
    row = torch.arange(rows)[:, None]
    ids = (row * 7919 + i * 104729 + i * i * 31) % vocab
    return ids[:, :-1], ids[:, 1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("words", nargs="+")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    makers = {"make": make, "make_gpt_oss": make_gpt_oss}
    if options.words[0] in makers:
        return makers[options.words[0]](options.folder)
    rows, tokens = int(options.words[0]), int(options.words[1])
    steps = int(options.words[2]) if len(options.words) > 2 else 4
    dtype = TYPES[options.words[3]] if len(options.words) > 3 else None
    torch.set_num_threads(1)
    is_gpt_oss = AutoConfig.from_pretrained(options.folder).model_type == "gpt_oss"
    model = AutoModelForCausalLM.from_pretrained(
        options.folder, attn_implementation="eager" if is_gpt_oss else "sdpa").train()
    forward = torch.compile(model) if options.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.999), eps=1e-8,
                                  weight_decay=0.0, fused=True)
    ids, targets = batch_of(rows, tokens, model.config.vocab_size)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            logits = forward(ids, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    for _ in range(CHECK_STEPS):
        check = step()
    begin = time.process_time()
    for _ in range(steps):
        step()
    rate = rows * tokens * steps / (time.process_time() - begin)
    name = "torch.compile" if options.compile else "torch"
    print(json.dumps({"name": name, "value": rate, "unit": "tokens/s", "check": check}))


if __name__ == "__main__":
    main()
