"""A model folder for tests of job generate: random weights of tests/lm with a tokenizer of
67 characters, and files of prompts."""
import json
import pathlib
import shutil
import string

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "lm" / "goldens"
CLASSIFIERS = GOLDENS.parent / "classifier_goldens"  # reward models
SPECIAL = ["<pad>", "<s>", "</s>"]
# "Ġ" is the blank of byte-level tokenizers.
CHARACTERS = SPECIAL + ["Ġ", *string.ascii_letters, *"0123456789."]
TEMPLATE = ("{{ bos_token }}{% for m in messages %}{{ m.role }}.{{ m.content }}.{% endfor %}"
            "{% if add_generation_prompt %}assistant.{% endif %}")


def make_folder(folder, family="llama", tokenizer=True, goldens=GOLDENS, template=TEMPLATE):
    """Copies a golden model to a folder, which gets a tokenizer if `tokenizer` is true."""
    assert len(CHARACTERS) == 67
    folder.mkdir(parents=True)
    for name in ("config.json", "generation_config.json", "model.safetensors"):
        if (goldens / family / name).exists():
            shutil.copy(goldens / family / name, folder / name)
    if tokenizer:
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer_of_characters()))
        (folder / "tokenizer_config.json").write_text(json.dumps({
            "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
            **({"chat_template": template} if template else {})}))
    return folder


def tokenizer_of_characters():
    """Returns the content of tokenizer.json: a token for each of CHARACTERS."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": False}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": text, "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True}
                         for i, text in enumerate(SPECIAL)],
        "normalizer": None, "pre_tokenizer": level, "decoder": level,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                       {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                     {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {text: i for i, text in enumerate(CHARACTERS)}, "merges": []}}


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def mixed_rows(count):
    """Returns `count` rows, which are prompts, conversations and token ids in turn."""
    words = "the cat sat on a mat and saw the dog run".split()
    rows = []
    for i in range(count):
        text = " ".join(words[i % 7:i % 7 + 1 + i % 4])
        rows.append([{"prompt": text}, {"messages": [{"role": "user", "content": text}]},
                     {"token_ids": [1] + [(7 * j + i) % 67 for j in range(1 + i % 9)]}][i % 3])
    return rows
