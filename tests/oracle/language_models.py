"""Makes goldens of the language-model forward pass from transformers in float64.

  python3 tests/oracle/language_models.py tests/lm/goldens [--check] [NAME...]

Made with transformers 5.23.0, torch 2.11.0, safetensors 0.8.0 on the CPU. Writes a folder per
family and switch: config.json, generation_config.json, and weights in the form of save_pretrained.
The weights are random (seed 0) in the type that the case names, so the stored values are exact.
golden.safetensors has for each prompt P:

  P.ids     [T] int64
  P.logits  [T, V] float64 of all positions, the model in float64 (rotary angles in float32, as
            in transformers)
  P.greedy  [G] int64, the greedy continuation without a cache; ends before a position whose two
            best logits differ by less than 1e-3, so that rounding cannot decide

gpt_oss_mxfp4 has random MXFP4 blocks. Its goldens are those of the model whose experts have the
values that transformers' decoder makes from them. With --check nothing is written:
golden.safetensors is computed again from the existing configurations and weights. The exit code is
1 if transformers disagrees.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import (AutoModelForCausalLM, GPT2Config, GptOssConfig, LlamaConfig,
                          MistralConfig, Qwen2Config, Qwen3Config)
from transformers.integrations.mxfp4 import convert_moe_packed_tensors
from transformers.utils import logging

VOCAB = 67
COMMON = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=40, num_hidden_layers=2,
              num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
              bos_token_id=1, eos_token_id=2, initializer_range=0.2)
PROMPTS = {"one": [1], "short": [1, 5, 9, 66, 0, 33, 7], "long": [(i * i * 7 + 3 * i + 1) % VOCAB
                                                                  for i in range(23)]}
BEYOND = {"beyond": [(i * 11 + 5) % VOCAB for i in range(41)]}  # longer than the context of 32
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=16)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0,
            original_max_position_embeddings=16)


def llama(**changes):
    return LlamaConfig(**{**COMMON, **changes})


def gpt2(**changes):
    return GPT2Config(vocab_size=VOCAB, n_positions=48, n_embd=32, n_layer=2, n_head=4,
                      bos_token_id=1, eos_token_id=2, initializer_range=0.2, **changes)


def gpt_oss(**changes):
    sizes = {**COMMON, "head_dim": 8, "num_local_experts": 6, "sliding_window": 8,
             "num_hidden_layers": 3, "num_experts_per_tok": 4, "swiglu_limit": 0.9,
             "rope_parameters": dict(YARN, truncate=False)}
    return GptOssConfig(**{**sizes, **changes})


def rope(**parameters):
    return dict(rope_parameters=dict(rope_theta=10000.0, **parameters))


# name -> config, stored type, further prompts
CASES = {
    "gpt2": (gpt2(), torch.float32, {}),
    "gpt2_switches": (gpt2(n_inner=56, activation_function="gelu", tie_word_embeddings=False,
                           scale_attn_by_inverse_layer_idx=True), torch.float16, {}),
    "gpt2_only_head": (gpt2(), torch.bfloat16, {}),
    "gpt_oss": (gpt_oss(), torch.bfloat16, BEYOND),
    "gpt_oss_switches": (gpt_oss(swiglu_alpha=1.3, swiglu_limit=7.0, attention_bias=False,
                                 tie_word_embeddings=True, num_experts_per_tok=1,
                                 layer_types=["full_attention", "sliding_attention",
                                              "sliding_attention"],
                                 **rope(rope_type="default")), torch.float32, {}),
    "llama": (llama(), torch.bfloat16, {}),
    "llama_biases": (llama(attention_bias=True, mlp_bias=True, num_key_value_heads=4,
                           tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh"),
                     torch.bfloat16, {}),
    "llama_linear": (llama(head_dim=10, **rope(rope_type="linear", factor=4.0)),
                     torch.bfloat16, {}),
    "llama_dynamic": (llama(max_position_embeddings=32,
                            **rope(rope_type="dynamic", factor=2.0)), torch.bfloat16, BEYOND),
    "llama_llama3": (llama(rope_parameters=LLAMA3), torch.float16, BEYOND),
    "llama_stored_head": (llama(tie_word_embeddings=True), torch.bfloat16, {}),
    "llama_yarn": (llama(rope_parameters=YARN), torch.bfloat16, BEYOND),
    "llama_yarn_switches": (llama(rope_parameters=dict(YARN, truncate=False, beta_fast=8.0,
                                                       beta_slow=2.0, mscale=0.7,
                                                       mscale_all_dim=1.2)),
                            torch.bfloat16, BEYOND),
    "mistral": (MistralConfig(**COMMON, sliding_window=8), torch.bfloat16, BEYOND),
    "mistral_no_window": (MistralConfig(**COMMON, sliding_window=None), torch.bfloat16, {}),
    "qwen2": (Qwen2Config(**COMMON, tie_word_embeddings=True), torch.bfloat16, {}),
    "qwen2_window": (Qwen2Config(**COMMON, use_sliding_window=True, sliding_window=6,
                                 max_window_layers=1), torch.bfloat16, BEYOND),
    "qwen3": (Qwen3Config(**COMMON, head_dim=16), torch.bfloat16, {}),
    "qwen3_switches": (Qwen3Config(**COMMON, head_dim=12, attention_bias=True,
                                   tie_word_embeddings=True, rms_norm_eps=1e-3),
                       torch.bfloat16, {}),
}
# config.json in the form of transformers 4, for the case whose weights it uses
OLD_SPELLING = {"llama_llama3_v4": ("llama_llama3", LLAMA3)}
SHARDED = {"qwen2": "20KB"}
# cases whose config.json ties the head: the case stores another head, or only the head
HEADS = {"llama_stored_head": "untied", "gpt2_only_head": "only"}
MXFP4 = "gpt_oss_mxfp4"
NAMES = [MXFP4, *CASES, *OLD_SPELLING]


def perturb(model):
    """Draws biases and norms, whose usual values 0 and 1 would hide an error in them."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1 or name.endswith("_bias"):
                parameter += 0.2 * torch.randn(parameter.shape, generator=generator)


def open_model(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                attn_implementation="eager",
                                                experts_implementation="eager").double().eval()


def logits_of(folder, ids):
    # Opens a new model for each length, because dynamic rotary positions remember longer ones.
    model = open_model(folder)
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0]


def greedy_of(folder, ids, count):
    out = []
    for _ in range(count):
        last = logits_of(folder, ids + out)[-1]
        best = last.topk(2).values
        if best[0] - best[1] < 1e-3:
            break
        out.append(int(last.argmax()))
    return out


def golden_of(folder, prompts):
    golden = {}
    for name, ids in prompts.items():
        golden[f"{name}.ids"] = torch.tensor(ids)
        golden[f"{name}.logits"] = logits_of(folder, ids).contiguous()
        golden[f"{name}.greedy"] = torch.tensor(greedy_of(folder, ids, 6), dtype=torch.int64)
    return golden


def decode_mxfp4(folder, plain):
    """Writes the model of `folder` to `plain` without MXFP4, so that transformers opens it on any
    CPU."""
    config = json.loads((folder / "config.json").read_text())
    del config["quantization_config"]
    weights = load_file(folder / "model.safetensors")
    for name in [name.removesuffix("_blocks") for name in weights if name.endswith("_blocks")]:
        # three bits and a power of two: exact in bfloat16
        weights[name] = convert_moe_packed_tensors(
            weights.pop(name + "_blocks"), weights.pop(name + "_scales"), dtype=torch.bfloat16)
    (plain / "config.json").write_text(json.dumps(config))
    save_file(weights, plain / "model.safetensors", metadata={"format": "pt"})


def golden_named(target, name):
    if name == MXFP4:
        with tempfile.TemporaryDirectory() as plain:
            decode_mxfp4(target / name, pathlib.Path(plain))
            return golden_of(plain, PROMPTS)
    origin, _ = OLD_SPELLING.get(name, (name, None))
    return golden_of(target / name, {**PROMPTS, **CASES[origin][2]})


def make_mxfp4(folder):
    """Writes a folder in OpenAI's published form: the experts' matrices are [experts, out, in]."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(gpt_oss(hidden_size=64, intermediate_size=32))
    perturb(model)
    packed = {}
    for name, parameter in model.named_parameters():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        experts, inputs, outputs = parameter.shape
        blocks = torch.randint(256, (experts, outputs, inputs // 32, 16), dtype=torch.uint8)
        scales = torch.randint(118, 123, blocks.shape[:-1], dtype=torch.uint8)
        packed.update({name + "_blocks": blocks, name + "_scales": scales})
    with tempfile.TemporaryDirectory() as plain:
        model.to(torch.bfloat16).save_pretrained(plain)
        weights = {name: tensor for name, tensor in load_file(plain + "/model.safetensors").items()
                   if name + "_blocks" not in packed}
        config = json.loads(pathlib.Path(plain, "config.json").read_text())
    config["quantization_config"] = dict(quant_method="mxfp4", modules_to_not_convert=[
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"])
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    save_file({**weights, **packed}, folder / "model.safetensors", metadata={"format": "pt"})


def make_case(folder):
    config, dtype, _ = CASES[folder.name]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    perturb(model)
    model.to(dtype).save_pretrained(folder, max_shard_size=SHARDED.get(folder.name, "1GB"))
    if folder.name in HEADS:
        change_head(folder, HEADS[folder.name])


def change_head(folder, how):
    """Adds a random head to the weights. With `how` "only", renames the embedding to the head."""
    weights = load_file(folder / "model.safetensors")
    [embedding] = [name for name in weights if name.endswith(("embed_tokens.weight", "wte.weight"))]
    head = weights.pop(embedding) if how == "only" else torch.randn_like(weights[embedding]) / 5
    save_file({**weights, "lm_head.weight": head}, folder / "model.safetensors",
              metadata={"format": "pt"})


def make_old_spelling(folder):
    """Takes weights and goldens from the case that has other key names."""
    origin, scaling = OLD_SPELLING[folder.name]
    config = json.loads((folder.parent / origin / "config.json").read_text())
    del config["rope_parameters"]
    config["torch_dtype"] = config.pop("dtype")
    config["rope_theta"] = scaling["rope_theta"]
    config["rope_scaling"] = {k: v for k, v in scaling.items() if k != "rope_theta"}
    config["transformers_version"] = "4.57.0"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    for file in ("model.safetensors", "golden.safetensors"):
        (folder / file).symlink_to(f"../{origin}/{file}")


def make(target, name):
    folder = target / name
    shutil.rmtree(folder, ignore_errors=True)
    if name in OLD_SPELLING:
        make_old_spelling(folder)
        return
    if name == MXFP4:
        make_mxfp4(folder)
    else:
        make_case(folder)
    save_file(golden_named(target, name), folder / "golden.safetensors")
    print(name, [f.name for f in sorted(folder.iterdir())])


def is_same(ours, theirs, atol):
    """Returns whether names, shapes and integers are equal, and other numbers are close."""
    def tolerance(tensor):
        return dict(rtol=1e-5, atol=atol) if tensor.is_floating_point() else dict(rtol=0, atol=0)

    return ours.keys() == theirs.keys() and all(
        ours[name].shape == theirs[name].shape
        and torch.allclose(ours[name], theirs[name], **tolerance(ours[name])) for name in ours)


def check(target, chosen):
    there = {path.parent.name for path in target.glob("*/golden.safetensors")}
    # Rotary angles are float32: their last bit depends on the CPU, and moves logits by 2e-6.
    different = [name for name in chosen or sorted(there.union(NAMES)) if not is_same(
        load_file(target / name / "golden.safetensors"), golden_named(target, name), atol=1e-5)]
    if different:
        sys.exit(f"language_models.py: other values now: {', '.join(different)}")


def main():
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # for many small operations threads only cost time
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    target, chosen = pathlib.Path(arguments[0]), arguments[1:]
    if "--check" in sys.argv:
        check(target, chosen)
        return
    for name in chosen or NAMES:
        make(target, name)


if __name__ == "__main__":
    main()
