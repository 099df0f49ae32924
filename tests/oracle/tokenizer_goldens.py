"""Makes goldens of the tokenizer from the tokenizers wheel.

  python3 tests/oracle/tokenizer_goldens.py tests/text/goldens           # writes all
  python3 tests/oracle/tokenizer_goldens.py tests/text/goldens --check   # compares the hashes
  python3 tests/oracle/tokenizer_goldens.py tests/text/goldens FILE HASHES   # of a real tokenizer

Made with tokenizers 0.23.3. Trains one tiny tokenizer of each kind (KIND.json), and writes
KIND.hashes. It has the first 8 bytes of a SHA-256 for each of the 12,000 hard texts. The hash is
over its ids and decoded text, both without and with special tokens, and the decoded text of some
random ids.
"""
import hashlib
import json
import pathlib
import struct
import sys
import unicodedata

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from hard_texts import make_ids, make_texts

ROOT = pathlib.Path(__file__).parents[2]
VOCAB = 480
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3, QWEN2 = CL100K % "{1,3}", CL100K % ""
O200K_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         + O200K_SUFFIX +
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
         + O200K_SUFFIX +
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]
TONGUES = ["The quick brown fox doesn't jump over 12345 lazy dogs; I'll say we've seen it.",
           "Größe, naïve café, Ærøskøbing, İstanbul, Ελληνικά, русский язык, العربية, עברית.",
           "你好，世界！今天天气很好。こんにちは世界。カタカナ。안녕하세요 세계. नमस्ते दुनिया. สวัสดี",
           "def f(x):\n    return x ** 2  # square\n\n\tpass\r\nprint(f(3.14))\n", "🦙🙂👩‍👩‍👧 ½ Ⅷ ² ﬁ"]


# -- the texts -------------------------------------------------------------------------------

TEXTS = ["", "a", " ", "  ", "\n", "\n\n\n", " \n \n", "\r\n\r\n x", "\t\t\tx\t y",
         "don't DON'T I'll I'LL we've he'd it'S 'sſt K'ſ ’s", "1 12 123 1234 12345 1.234,56 ١٢٣٤",
         "你好，世界！こんにちは 세계", "🦙🦙🏽👨‍👩‍👧‍👦 🇩🇪🏳️‍🌈", "e\u0301 ﬁ ﬀ Å \u212b 가 \u1100\u1161",
         "a\u00a0b\u2003c\u3000d\u200be\ufeff\u180ef\u0085g\u2028h\x1c\x1d\x1ei", "x" * 300,
         "ab " * 200, "\x00\x01\x7f", "\ufffd\ufffe\U0010ffff\U000e0001", "ßẞſİıǅ", " lead", "trail  ",
         "a  b   c    d", "▁▁a ▁ b", "<0x41><0x0A>", "!@#$%^&*()_+{}|:\"<>?`~-=[]\\;',./", " " * 90,
         "HelloWORLDHello camelCaseHTTPServer ÀÉÎõü ΑΒΓδ ДОбрый", "\\r\\n //path///\n/x", "Σίσυφος ΟΔΟΣ"]
FRAGMENTS = [" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "'ſ", "1", "23", " a", "Zz", "_", "/", "▁",
             "<|endoftext|>", "<|im_end|>", "<s>", "</s>", "<|eot_id|>", "<tool>", "[MASK]", "wORD",
             "\u0301", "\u3099", "가", "é", "ſ", "\u180e", "\u0085", "\u200d", "你好", "the", " quick",
             "ing", "\u0323\u0301", "Ⅷ", "İ", "Σ", "<0x41>", "<0xF0>", "\u00a0", "\u3000"]


def spread(items, count):
    return items if len(items) <= count else [items[i * len(items) // count] for i in range(count)]


def runs_of(members):
    runs = []
    for c in members:
        if runs and runs[-1][1] == c - 1:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    return runs


def odd_ranges():
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    ranges = []
    for category in sorted({unicodedata.category(chr(c)) for c in points}):
        if category in ("Cn", "Co"):
            continue
        ranges += spread(runs_of(c for c in points if unicodedata.category(chr(c)) == category), 14)
    # Letters, numbers and marks that the wheel knows and Unicode 14 does not, and changing ones.
    text = "".join(map(chr, points))
    for name in ("L", "N", "M", "P", "S"):
        kept = set()
        split = pre_tokenizers.Split(Regex(r"\p{%s}" % name), "removed")
        for _, (begin, end) in split.pre_tokenize_str(text):
            kept.update(points[begin:end])
        new = [c for c in points if c not in kept and unicodedata.category(chr(c))[0] != name]
        ranges += spread(runs_of(new), 30)
    changing = [c for c in points if unicodedata.normalize("NFKC", chr(c)) != chr(c)]
    ranges += spread(runs_of(changing), 60) + [[0x1100, 0x11FF], [0x300, 0x36F], [0xAC00, 0xD7A3]]
    ranges += [[0x1DF0, 0x1DFF], [0x8D4, 0x8E1], [0x1E000, 0x1E02A], [0x11300, 0x1137F]]
    return ranges


# -- the tokenizers --------------------------------------------------------------------------

def corpus():
    lines = (ROOT / "LICENSE").read_text().splitlines(keepends=True)
    return lines + [line for text in TONGUES * 4 for line in text.splitlines(keepends=True)]


def train(pre_tokenizer, normalizer=None, initial=(), special=(), **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=VOCAB, initial_alphabet=list(initial), special_tokens=list(special),
        limit_alphabet=140 if not initial else 256, show_progress=False))
    return json.loads(tokenizer.to_str())


def byte_level(expression=None, normalizer=None, **changes):
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=expression is None)
    parts = [pre_tokenizers.Split(Regex(e), "isolated") for e in expression or []] + [last]
    data = train(pre_tokenizers.Sequence(parts) if len(parts) > 1 else last, normalizer,
                 pre_tokenizers.ByteLevel.alphabet())
    data["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                       "use_regex": True}
    return dict(data, **changes)


def sentencepiece(normalizer, pre_tokenizer, decoder, bytes_from=0, **model):
    bytes_ = [f"<0x{i:02X}>" for i in range(bytes_from, 256)]
    data = train(pre_tokenizers.Metaspace(), special=["<unk>", "<s>", "</s>"] + bytes_,
                 unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    data["added_tokens"] = [added(i, t, special=True) for i, t in enumerate(["<unk>", "<s>", "</s>"])]
    data["model"].update(model)
    return dict(data, normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=decoder,
                post_processor=template(["<s>"], [], {"<s>": 1}))


def added(token_id, content, **flags):
    standard = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=False)
    return dict(id=token_id, content=content, **{**standard, **flags})


def add_tokens(data, *tokens):
    first = len(data["model"]["vocab"])
    known = data.get("added_tokens", [])
    data["added_tokens"] = known + [added(first + i, content, **flags)
                                    for i, (content, flags) in enumerate(tokens)]
    return data


def template(before, behind, ids):
    items = [{"SpecialToken": {"id": t, "type_id": 0}} for t in before]
    items += [{"Sequence": {"id": "A", "type_id": 0}}]
    items += [{"SpecialToken": {"id": t, "type_id": 0}} for t in behind]
    return {"type": "TemplateProcessing", "single": items,
            "pair": items + [{"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in ids.items()}}


def sequence(key, *parts):
    return {"type": "Sequence", key: list(parts)}


def replace(old, new, kind="String"):
    return {"type": "Replace", "pattern": {kind: old}, "content": new}


def metaspace(scheme, split):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def split(expression, behavior, invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: expression}, "behavior": behavior, "invert": invert}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
              "use_regex": False}
SPACES = [replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
SPECIAL = dict(special=True)
MARK = metaspace("always", False)


def llama3():
    data = add_tokens(byte_level([LLAMA3]), ("<|begin_of_text|>", SPECIAL), ("<|eot_id|>", SPECIAL))
    data["model"]["ignore_merges"] = True
    # Some tokens can no longer result from merges, so that ignore_merges has an effect.
    data["model"]["merges"] = [m for i, m in enumerate(data["model"]["merges"]) if i % 7 != 5]
    first = len(data["model"]["vocab"])
    data["post_processor"] = sequence("processors", dict(BYTE_LEVEL, trim_offsets=False),
                                      template(["<|begin_of_text|>"], ["<|eot_id|>"],
                                               {"<|begin_of_text|>": first, "<|eot_id|>": first + 1}))
    return data


def picky_tokens():
    return [("<s>", dict(lstrip=True, special=True)), ("</s>", dict(rstrip=True)),
            ("the", dict(single_word=True)), (" quick", dict(rstrip=True)),
            ("[MASK]", dict(lstrip=True, rstrip=True, single_word=True)),
            ("<|endoftext|>", SPECIAL), ("<|im_end|>", dict(normalized=True, special=True)),
            ("wORD", dict(normalized=True, single_word=True)), ("é", dict(normalized=True)),
            ("ing", dict(normalized=True, lstrip=True)), ("a b", dict(normalized=True))]


LLAMA2_NORMALIZER = sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁"))


def kinds():
    llama2 = lambda **model: sentencepiece(LLAMA2_NORMALIZER, None,
                                           sequence("decoders", *SPACES, STRIP), **model)
    pieces = lambda *parts, **more: dict(byte_level(), pre_tokenizer=sequence(
        "pretokenizers", *parts, BYTE_LEVEL), **more)
    normalized = lambda *parts: dict(byte_level(), normalizer=sequence("normalizers", *parts))
    yield "gpt2", add_tokens(byte_level(), ("<|endoftext|>", SPECIAL))
    yield "llama3", llama3()
    yield "qwen2", add_tokens(dict(byte_level([QWEN2]), normalizer={"type": "NFC"}),
                              ("<|endoftext|>", SPECIAL), ("<|im_end|>", SPECIAL), ("<tool>", {}))
    yield "gpt_oss", add_tokens(byte_level([O200K]), ("<|endoftext|>", SPECIAL))
    # A mark before each piece, so that ids show every border, which a small vocabulary hides.
    for name, expressions in (("gpt2", [GPT2]), ("llama3", [LLAMA3]), ("gpt_oss", [O200K]),
                              ("deepseek", DEEPSEEK)):
        yield f"borders_{name}", pieces(*(split(e, "Isolated") for e in expressions), MARK)
    yield "llama2", llama2()
    yield "mistral", sentencepiece(None, metaspace("first", False),
                                   sequence("decoders", *SPACES, STRIP))
    yield "gemma", sentencepiece(replace(" ", "▁"),
                                 split(" ", "MergedWithPrevious", kind="String"),
                                 sequence("decoders", *SPACES))
    yield "metaspace_always", sentencepiece(None, metaspace("always", True),
                                            metaspace("always", True), byte_fallback=False)
    yield "metaspace_never", sentencepiece(None, metaspace("never", True), metaspace("never", True),
                                           byte_fallback=False, fuse_unk=False)
    yield "some_bytes", llama2(bytes_from=192)
    yield "some_bytes_apart", llama2(bytes_from=192, fuse_unk=False)
    yield "added_gpt2", add_tokens(byte_level(), *picky_tokens())
    yield "added_llama2", add_tokens(llama2(), *picky_tokens()[2:])
    yield "added_lower", add_tokens(normalized({"type": "NFKC"}, {"type": "Lowercase"}),
                                    *picky_tokens())
    yield "nfkc_lower", normalized({"type": "NFKC"}, {"type": "Lowercase"},
                                   {"type": "Strip", "strip_left": True, "strip_right": True})
    yield "nfd", normalized({"type": "NFD"}, replace(r"\s+", " ", "Regex"))
    yield "nfkd", dict(byte_level(), normalizer={"type": "NFKD"}, decoder=None)
    yield "digits", pieces({"type": "Digits", "individual_digits": True}, MARK)
    yield "digits_together", pieces({"type": "WhitespaceSplit"},
                                    {"type": "Digits", "individual_digits": False}, MARK,
                                    decoder=sequence("decoders", BYTE_LEVEL, dict(STRIP, start=2)))
    yield "punctuation", pieces({"type": "Punctuation", "behavior": "MergedWithPrevious"},
                                MARK)
    yield "splits", pieces(split(r"\p{Lu}", "MergedWithNext"), split(r"x*", "Contiguous"),
                           split(r"[^\S\n]|\P{L}", "Contiguous", True), split("'", "Removed"), MARK)


# -- hashes ----------------------------------------------------------------------------------

def hash_of(tokenizer, vocab_size, number, text):
    digest = hashlib.sha256()
    plain = tokenizer.encode(text, add_special_tokens=False).ids
    framed = tokenizer.encode(text, add_special_tokens=True).ids
    for ids in (plain, framed):
        digest.update(struct.pack(f"<{len(ids) + 1}I", len(ids), *ids))
    ids = make_ids(number, vocab_size)
    for decoded in (tokenizer.decode(framed, skip_special_tokens=True),
                    tokenizer.decode(framed, skip_special_tokens=False),
                    tokenizer.decode(ids, skip_special_tokens=False)):
        data = decoded.encode()
        digest.update(struct.pack("<I", len(data)) + data)
    return digest.digest()[:8]


def hashes(path, texts):
    tokenizer = Tokenizer.from_file(str(path))
    size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values())
    return b"".join(hash_of(tokenizer, size, i, text) for i, text in enumerate(texts))


def main():
    folder = pathlib.Path(sys.argv[1])
    check = "--check" in sys.argv
    if len(sys.argv) == 4:
        texts = make_texts(folder / "hard_texts.json")
        pathlib.Path(sys.argv[3]).write_bytes(hashes(sys.argv[2], texts))
        return
    if not check:
        made_of = dict(texts=TEXTS, fragments=FRAGMENTS, ranges=odd_ranges())
        (folder / "hard_texts.json").write_text(json.dumps(made_of) + "\n")
        for name, data in kinds():
            (folder / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False,
                                                            separators=(",", ":")) + "\n")
    texts = make_texts(folder / "hard_texts.json")
    for path in sorted(folder.glob("*.json")):
        if path.stem == "hard_texts":
            continue
        made = hashes(path, texts)
        if not check:
            path.with_suffix(".hashes").write_bytes(made)
        elif path.with_suffix(".hashes").read_bytes() != made:
            sys.exit(f"{path.stem}: the wheel answers otherwise than the goldens say")
        print(path.stem, "same" if check else "written", flush=True)


if __name__ == "__main__":
    main()
