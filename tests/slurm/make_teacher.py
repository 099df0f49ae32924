#!/usr/bin/env python3
"""make_teacher.py FOLDER: writes FOLDER/model, a Llama of four layers with random weights, and
FOLDER/rows.jsonl, conversations for it."""
import json
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "end_to_end"))
import tiny_lm  # noqa: E402

LAYERS = 4  # one layer per rank when four ranks hold the model
ROWS = 192
VOCAB, HIDDEN, HEADS, KV_HEADS, HEAD, INNER = 67, 32, 4, 2, 8, 40


def shapes():
    yield "model.embed_tokens.weight", [VOCAB, HIDDEN]
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"{layer}{norm}.weight", [HIDDEN]
        yield layer + "self_attn.q_proj.weight", [HEADS * HEAD, HIDDEN]
        for name in ("k_proj", "v_proj"):
            yield f"{layer}self_attn.{name}.weight", [KV_HEADS * HEAD, HIDDEN]
        yield layer + "self_attn.o_proj.weight", [HIDDEN, HEADS * HEAD]
        for name in ("gate_proj", "up_proj"):
            yield f"{layer}mlp.{name}.weight", [INNER, HIDDEN]
        yield layer + "mlp.down_proj.weight", [HIDDEN, INNER]
    yield "model.norm.weight", [HIDDEN]
    yield "lm_head.weight", [VOCAB, HIDDEN]


def write_weights(path):
    """Writes random weights in bfloat16, which is the upper half of a float32."""
    source = random.Random(6)
    header, data = {}, bytearray()
    for name, shape in shapes():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        begin = len(data)
        for _ in range(count):
            value = 1.0 if len(shape) == 1 else source.gauss(0.0, 0.2)
            data += struct.pack("<f", value)[2:]
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def rows():
    words = "the cat sat on a mat and saw the dog run".split()
    source = random.Random(7)
    for _ in range(ROWS):
        say = [" ".join(source.choices(words, k=source.randint(1, 20))) for _ in range(2)]
        yield {"messages": [{"role": "user", "content": say[0]},
                            {"role": "assistant", "content": say[1]}]}


def main():
    folder = pathlib.Path(sys.argv[1])
    model = tiny_lm.make_folder(folder / "model")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"num_hidden_layers": LAYERS}))
    write_weights(model / "model.safetensors")
    tiny_lm.write_rows(folder / "rows.jsonl", rows())


if __name__ == "__main__":
    main()
