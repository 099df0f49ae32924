"""Makes the model and the runs of lm_speed.py: shapes, weights, rows, configurations."""
import ctypes
import json
import math
import struct

ROPE = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192}
# 1b: the sizes of Llama-3.2-1B. The rows of a chunk form a batch; the first chunk is not timed.
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


def ids_of(run, vocab):
    return [[3 + (row * 131 + t * t * 7 + t * 29) % (vocab - 3) for t in range(run["tokens"])]
            for row in range(run["rows"])]


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
    """Writes a model folder with a tied head, and a configuration and rows for each run.

    The weights have a large spread, so that rounding rarely decides the best token.
    """
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
