"""Generates greedily like generate_bench, but with a peer, on one thread.

  generate_peer.py make DIR          makes random Llamas DIR/l15 and DIR/l110 (15M, 110M), and
                                     their forms for CTranslate2, DIR/l15-ct2 and DIR/l110-ct2
  generate_peer.py hf DIR/l15 [BATCH PROMPT NEW]
  generate_peer.py ct2 DIR/l15 [BATCH PROMPT NEW]

Needs torch 2.11, transformers 5.23, ctranslate2 4.8. Prints one line of JSON; "check" is the sum of
the new tokens' ids.
"""
import json
import sys
import time

MODELS = {"l15": (384, 6, 6, 1024, 8192), "l110": (768, 12, 12, 2048, 32000)}


def make(target):
    import ctranslate2.converters
    import torch
    from tokenizers import Tokenizer, models
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    for name, (width, layers, heads, inner, vocab) in MODELS.items():
        torch.manual_seed(0)
        # Wider than usual, so that rounding rarely decides the best token.
        LlamaForCausalLM(LlamaConfig(
            vocab_size=vocab, hidden_size=width, num_hidden_layers=layers,
            num_attention_heads=heads, num_key_value_heads=heads, intermediate_size=inner,
            max_position_embeddings=2048, tie_word_embeddings=False, initializer_range=0.08,
            bos_token_id=1, eos_token_id=2)).save_pretrained(f"{target}/{name}")
        words = models.WordLevel({f"t{i}": i for i in range(vocab)}, unk_token="t0")
        PreTrainedTokenizerFast(tokenizer_object=Tokenizer(words), bos_token="t1", eos_token="t2",
                                unk_token="t0").save_pretrained(f"{target}/{name}")
        ctranslate2.converters.TransformersConverter(f"{target}/{name}").convert(
            f"{target}/{name}-ct2", force=True)


def prompts_of(batch, tokens, vocab):
    return [[3 + (b * 131 + t * t * 7 + t * 29) % (vocab - 3) for t in range(tokens)]
            for b in range(batch)]


def with_hf(folder, batch, tokens):
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    x = torch.tensor(prompts_of(batch, tokens, model.config.vocab_size))

    def generate(count):
        with torch.inference_mode():
            y = model.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=count,
                               min_new_tokens=count, do_sample=False, eos_token_id=None,
                               pad_token_id=0)
        return y[:, tokens:].tolist()
    return generate


def with_ct2(folder, batch, tokens):
    import ctranslate2
    with open(f"{folder}/config.json") as file:
        vocab = json.load(file)["vocab_size"]
    generator = ctranslate2.Generator(folder + "-ct2", device="cpu", compute_type="float32",
                                      inter_threads=1, intra_threads=1)
    x = [[f"t{i}" for i in ids] for ids in prompts_of(batch, tokens, vocab)]

    def generate(count):
        results = generator.generate_batch(x, max_batch_size=0, max_length=count,
                                           min_length=count, beam_size=1,
                                           include_prompt_in_result=False)
        return [result.sequences_ids[0] for result in results]
    return generate


def main():
    kind, folder = sys.argv[1:3]
    if kind == "make":
        make(folder)
        return
    batch, tokens, new = map(int, sys.argv[3:6] or (16, 128, 128))
    generate = {"hf": with_hf, "ct2": with_ct2}[kind](folder, batch, tokens)
    generate(new)
    begin = time.process_time()
    ids = generate(new)
    seconds = time.process_time() - begin
    begin = time.process_time()
    generate(1)
    prefill = time.process_time() - begin
    print(json.dumps({"name": f"generate/{kind}", "value": round(batch * new / seconds, 1),
                      "unit": "tokens/CPU-s", "check": sum(map(sum, ids)),
                      "decode": round(batch * (new - 1) / (seconds - prefill), 1),
                      "prefill_s": round(prefill, 3)}))


if __name__ == "__main__":
    main()
