"""Makes a Llama of 15 million random parameters without PyTorch, with a tokenizer of few tokens."""
import json
import pathlib
import shutil

import numpy
from safetensors.numpy import save_file

TOKENIZER = pathlib.Path(__file__).resolve().parents[2] / "conf/examples/tiny_lm/model"
WIDTH, LAYERS, HEADS, INNER, VOCAB = 384, 6, 6, 1024, 8192


def make_llama(folder, width=WIDTH, layers=LAYERS, heads=HEADS, inner=INNER, vocab=VOCAB):
    """Writes a model folder. No token ends a text, so all completions have the maximum length."""
    draw = numpy.random.default_rng(0)
    _write_folder(folder, width, layers, heads, inner, vocab)
    head = {"lm_head.weight": _matrix(draw, vocab, width)}
    save_file(_weights(draw, width, layers, inner, vocab) | head, folder / "model.safetensors",
              metadata={"format": "pt"})
    return folder


def make_value_model(folder):
    """Writes a value model of the same size, with other weights and a Bernoulli head."""
    draw = numpy.random.default_rng(1)
    _write_folder(folder, WIDTH, LAYERS, HEADS, INNER, VOCAB)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {
        "architectures": ["LlamaForTokenClassification"], "id2label": {"0": "value"},
        "label2id": {"value": 0}, "value_head": {"kind": "bernoulli"}}))
    head = {"score.weight": _matrix(draw, 1, WIDTH), "score.bias": numpy.zeros(1, "float32")}
    save_file(_weights(draw, WIDTH, LAYERS, INNER, VOCAB) | head, folder / "model.safetensors",
              metadata={"format": "pt"})
    return folder


def _write_folder(folder, width, layers, heads, inner, vocab):
    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / name, folder)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": vocab,
        "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": heads, "head_dim": width // heads,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "hidden_act": "silu",
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False,
        "bos_token_id": 1, "eos_token_id": None, "dtype": "float32"}))


def _matrix(draw, rows, columns):
    return draw.normal(0, 0.08, (rows, columns)).astype("float32")


def _weights(draw, width, layers, inner, vocab):
    def matrix(rows, columns):
        return _matrix(draw, rows, columns)

    weights = {"model.embed_tokens.weight": matrix(vocab, width),
               "model.norm.weight": numpy.ones(width, "float32")}
    for layer in range(layers):
        name = f"model.layers.{layer}."
        for part in "qkvo":
            weights[f"{name}self_attn.{part}_proj.weight"] = matrix(width, width)
        for part in ("gate", "up"):
            weights[f"{name}mlp.{part}_proj.weight"] = matrix(inner, width)
        weights[name + "mlp.down_proj.weight"] = matrix(width, inner)
        for part in ("input", "post_attention"):
            weights[f"{name}{part}_layernorm.weight"] = numpy.ones(width, "float32")
    return weights
