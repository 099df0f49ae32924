"""Makes tokenizers of 16,000 tokens and texts for tokenizer_bench.

  tokenizer_data.py TEXT OUT    # TEXT: any large file of lines, also JSONL

Writes OUT/llama3.json and qwen2.json (byte-level) and OUT/llama2.json (SentencePiece-like), all
trained on TEXT. OUT/lines.txt has the lines of TEXT that are not empty. OUT/hard.txt has the hard
texts of tests/oracle, each on one line.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/oracle"))

import tokenizer_goldens
from hard_texts import make_texts


def main():
    text, out = map(pathlib.Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    lines = text.read_text(encoding="utf-8").splitlines()
    (out / "lines.txt").write_text("\n".join(line for line in lines if line) + "\n")
    hard = [t.replace("\n", " ") for t in make_texts(ROOT / "tests/text/goldens/hard_texts.json")]
    (out / "hard.txt").write_text("\n".join(t for t in hard if t) + "\n")
    tokenizer_goldens.VOCAB = 16_000
    tokenizer_goldens.corpus = lambda: lines
    for name, data in tokenizer_goldens.kinds():
        if name in ("llama3", "qwen2", "llama2"):
            (out / f"{name}.json").write_text(json.dumps(data))


if __name__ == "__main__":
    main()
