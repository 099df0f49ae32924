"""Makes goldens of transformers' rules for the tokenizer of a folder.

  python3 tests/oracle/text_folder_goldens.py tests/text           # writes folders.json
  python3 tests/oracle/text_folder_goldens.py tests/text --check   # compares

Made with transformers 5.23.0 and tokenizers 0.23.3, without mistral-common. Each case is a
tokenizer of tests/text/goldens with additional files; AutoTokenizer.from_pretrained opens the
folder. The cases of goldens/pieces.model also need sentencepiece 0.2.3 and
protobuf. The hash is a SHA-256 over the hashes of the first num_texts hard texts
(tokenizer_goldens.py).
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

from transformers import AutoTokenizer
from transformers.utils import logging

from hard_texts import make_texts
from tokenizer_goldens import hash_of

NUM_TEXTS = 400
WHOLE = ("neox", "code llama", "pieces, LlamaTokenizer, all tokens")  # hashes of all hard texts
PIECES = "pieces"  # the tokenizer that is a SentencePiece model
NAMES = dict(settings="tokenizer_config.json", map="special_tokens_map.json",
             added="added_tokens.json", config="config.json")


def token(content, **flags):
    return dict(content=content, **flags)


def typed(content, **flags):
    return dict(token(content, **flags), __type="AddedToken")


LLAMA_SETTINGS = dict(
    tokenizer_class="LlamaTokenizerFast", add_bos_token=True, add_eos_token=True, legacy=False,
    bos_token=typed("<s>", lstrip=False, rstrip=False, normalized=False, single_word=False),
    eos_token="</s>", unk_token="<unk>", clean_up_tokenization_spaces=True,
    added_tokens_decoder={
        "0": token("<unk>", special=True), "1": token("<s>", special=True, lstrip=True),
        "2": token("</s>", special=True, normalized=False), "481": token("quick", normalized=True),
        "480": token("[MASK]", lstrip=True, rstrip=True, special=True)})
QWEN_SETTINGS = dict(
    tokenizer_class="Qwen2Tokenizer", bos_token=None, eos_token="<|im_end|>",
    pad_token="<|endoftext|>", additional_special_tokens=["<|im_end|>", "[MASK]"],
    added_tokens_decoder={"480": token("<|endoftext|>", special=True),
                          "481": token("<|im_end|>", special=True, lstrip=True),
                          "482": token("<tool>")})


NEOX_SETTINGS = dict(
    tokenizer_class="GPTNeoXTokenizer", bos_token="<|endoftext|>", eos_token="<|endoftext|>",
    unk_token="<|endoftext|>", add_bos_token=True, add_eos_token=True,
    added_tokens_decoder={"480": token("<|endoftext|>", special=True),
                          "481": token("   ", normalized=True)})
CODE_SETTINGS = dict(
    tokenizer_class="CodeLlamaTokenizerFast", bos_token=typed("<s>", lstrip=False, rstrip=False),
    eos_token="</s>", unk_token="<unk>", prefix_token="▁<PRE>", middle_token="▁<MID>",
    suffix_token="▁<SUF>", eot_token="▁<EOT>", fill_token="<FILL_ME>", suffix_first=False,
    additional_special_tokens=["▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>"],
    added_tokens_decoder={
        "0": token("<unk>", special=True), "1": token("<s>", special=True),
        "2": token("</s>", special=True), "480": token("▁<SUF>", special=True),
        "481": token("▁<PRE>", special=True), "482": token("▁<EOT>", special=True)})


def cases():
    """Yields name, tokenizer, and the other files."""
    classes = ("LlamaTokenizer", "GPT2TokenizerFast", "Qwen2Tokenizer", "PreTrainedTokenizerFast",
               "TokenizersBackend", "GPTNeoXTokenizerFast", "CodeLlamaTokenizer")
    for model in ("", "gpt2", "llama", "mistral", "qwen2", "qwen3", "gpt_oss"):
        for kind in ("llama2", "qwen2"):
            config = dict(model_type=model) if model else {}
            yield f"{model or 'no model'}, {kind}", kind, dict(config=config)
            yield f"{model or 'no model'}, {kind}, class in config.json", kind, dict(
                config=dict(config, tokenizer_class="GPT2Tokenizer"))
            for name in classes:
                if kind == "qwen2" and name.startswith("CodeLlama"):
                    continue  # transformers does not find <unk> and encodes nothing
                yield f"{model or 'no model'}, {kind}, {name}", kind, dict(
                    config=config, settings=dict(tokenizer_class=name))
    llama, qwen = dict(config=dict(model_type="llama")), dict(config=dict(model_type="qwen3"))
    yield "llama 2", "llama2", dict(llama, settings=LLAMA_SETTINGS)
    yield "llama 2 of a mistral", "llama2", dict(config=dict(model_type="mistral"),
                                                 settings=LLAMA_SETTINGS)
    for name, changes in (("legacy", dict(legacy=True)), ("no prefix", dict(add_prefix_space=False)),
                          ("null", dict(legacy=None, add_prefix_space=None, bos_token=None)),
                          ("own role", dict(image_token="<image>", pad_token="<pad>"))):
        yield f"llama 2, {name}", "llama2", dict(llama, settings=dict(LLAMA_SETTINGS, **changes))
    yield "llama 3", "llama3", dict(llama, settings=dict(
        tokenizer_class="PreTrainedTokenizerFast", bos_token="<|begin_of_text|>",
        eos_token="<|eot_id|>", pad_token="<|finetune_right_pad_id|>"))
    yield "llama 3 that names the class of llama 2", "llama3", dict(llama, settings=LLAMA_SETTINGS)
    yield "qwen", "qwen2", dict(qwen, settings=QWEN_SETTINGS)
    yield "qwen 2.5", "qwen2", dict(config=dict(model_type="qwen2"), settings=QWEN_SETTINGS)
    yield "qwen, prefix", "qwen2", dict(qwen, settings=dict(QWEN_SETTINGS, add_prefix_space=True))
    for name, changes in (("", {}), (", prefix", dict(add_prefix_space=True)),
                          (", null", dict(bos_token=None, pad_token=None, unk_token=None))):
        yield f"neox{name}", "gpt2", dict(llama, settings=dict(NEOX_SETTINGS, **changes))
    for kind in ("nfd", "llama3"):
        yield f"neox with the parts of {kind}", kind, dict(llama, settings=NEOX_SETTINGS)
    for name, changes in (
            ("", {}), (", no prefix", dict(add_prefix_space=False)),
            (", null", dict(prefix_token=None, fill_token=None, add_prefix_space=None)),
            (", legacy", dict(legacy=True, eot_token="<end>", additional_special_tokens=["the"])),
            (", own tokens", dict(bos_token="the", extra_special_tokens=["<more>"],
                                  additional_special_tokens=None))):
        yield f"code llama{name}", "llama2", dict(llama, settings=dict(CODE_SETTINGS, **changes))
    yield "code llama without its tokens", "llama2", dict(
        llama, settings=dict(tokenizer_class="CodeLlamaTokenizer"))
    yield "code llama, some bytes", "some_bytes", dict(llama, settings=CODE_SETTINGS)
    yield "gpt2, prefix", "gpt2", dict(config=dict(model_type="gpt2"),
                                       settings=dict(add_prefix_space=True))
    yield "gpt2, other class", "added_gpt2", dict(
        config=dict(model_type="gpt2"), settings=dict(tokenizer_class="GPT2Tokenizer"))
    yield "added tokens with other flags", "added_gpt2", dict(llama, settings=dict(
        eos_token="</s>", unk_token="wORD", added_tokens_decoder={
            "480": token("<s>", special=True), "481": token("</s>", rstrip=True),
            "490": token("a b"), "600": token("zz", single_word=True)}))
    older = dict(map=dict(bos_token=token("<s>", lstrip=True, normalized=True, rstrip=False,
                                          single_word=False),
                          eos_token="</s>", additional_special_tokens=["<|tool|>"], pad_token="the"),
                 added={"<|tool|>": 480, "ing": 481})
    yield "older files", "llama2", dict(llama, settings=dict(unk_token="<unk>"), **older)
    yield "older files, llama class", "llama2", dict(
        llama, settings=dict(tokenizer_class="LlamaTokenizer", pad_token="a"), **older)
    yield "older files, code llama class", "llama2", dict(
        llama, settings=dict(tokenizer_class="CodeLlamaTokenizer"), **older)
    yield "older files, neox class", "gpt2", dict(
        llama, settings=dict(tokenizer_class="GPTNeoXTokenizer"), **older)
    yield "older files that do not count", "llama2", dict(llama, settings=LLAMA_SETTINGS, **older)
    yield "extra tokens by name", "qwen2", dict(llama, settings=dict(
        extra_special_tokens=dict(image_token="<image>", audio_token="<audio>"),
        eos_token=typed("<eos>", rstrip=True), video_token=typed("<video>", normalized=True)))


    for name in ("LlamaTokenizer", "CodeLlamaTokenizerFast"):
        for change, more in (
                ("", {}), (", all tokens", dict(add_bos_token=True, add_eos_token=True)),
                (", no bos", dict(add_bos_token=False, bos_token="the")),
                (", legacy", dict(legacy=True, add_prefix_space=None)),
                (", no prefix", dict(add_prefix_space=False, unk_token="<s>")),
                (", own tokens", dict(extra_special_tokens=["<more>"])),
                (", additional tokens", dict(additional_special_tokens=["<more>", "ing"])),
                (", listed", dict(LLAMA_SETTINGS, added_tokens_decoder={
                    "0": token("<unk>", special=True), "1": token("<s>", special=True),
                    "2": token("</s>", special=True, lstrip=True), "560": token("[MASK]")}))):
            yield f"pieces, {name}{change}", PIECES, dict(
                llama, settings=dict(more, tokenizer_class=name))
        yield f"pieces, {name}, older files", PIECES, dict(
            llama, settings=dict(tokenizer_class=name, add_bos_token=True), **older)


def make_pieces(path, texts):
    """Trains a small SentencePiece model with the settings of Llama 2, and a symbol of its user."""
    import sentencepiece
    lines = [re.sub("[^ -~éüßñ世界]", "", text.replace("\n", " ")) for text in texts[:4000]]
    with tempfile.TemporaryDirectory() as folder:
        corpus = pathlib.Path(folder, "corpus.txt")
        corpus.write_text("\n".join(lines))
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus), model_prefix=f"{folder}/pieces", model_type="bpe", vocab_size=560,
            byte_fallback=True, character_coverage=0.98, normalization_rule_name="identity",
            split_digits=True, allow_whitespace_only_pieces=True, remove_extra_whitespaces=False,
            user_defined_symbols=["<tool>"], max_sentence_length=100000)
        shutil.copy(f"{folder}/pieces.model", path)


def outcome(folder, texts, num_texts):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    size = 1 + max(tokenizer.get_vocab().values())

    class Adapter:
        @staticmethod
        def encode(text, add_special_tokens):
            ids = tokenizer.encode(text, add_special_tokens=add_special_tokens)
            return type("Encoding", (), dict(ids=ids))

        decode = tokenizer.decode

    digest = hashlib.sha256()
    for number in range(num_texts):
        digest.update(hash_of(Adapter, size, number, texts[number]).hex().encode())
    roles = {role: [getattr(tokenizer, f"{role}_token"), getattr(tokenizer, f"{role}_token_id")]
             for role in ("bos", "eos", "pad", "unk")}
    return dict(roles, vocab_size=size, hash=digest.hexdigest()[:16])


def main():
    logging.set_verbosity_error()
    target = pathlib.Path(sys.argv[1])
    goldens = target / "goldens"
    texts = make_texts(goldens / "hard_texts.json")
    if not (goldens / f"{PIECES}.model").exists():
        make_pieces(goldens / f"{PIECES}.model", texts)
    made = []
    for name, kind, files in cases():
        num_texts = len(texts) if name in WHOLE else NUM_TEXTS
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            if kind == PIECES:
                shutil.copy(goldens / f"{PIECES}.model", path / "tokenizer.model")
            else:
                shutil.copy(goldens / f"{kind}.json", path / "tokenizer.json")
            for key, content in files.items():
                (path / NAMES[key]).write_text(json.dumps(content))
            made.append(dict(name=name, tokenizer=kind, files=files, num_texts=num_texts,
                             made=outcome(folder, texts, num_texts)))
    text = "[\n" + ",\n".join(json.dumps(case) for case in made) + "\n]\n"
    if "--check" not in sys.argv:
        (target / "folders.json").write_text(text)
    elif (target / "folders.json").read_text() != text:
        sys.exit("transformers answers otherwise than folders.json says")


main()
