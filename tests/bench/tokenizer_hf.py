"""The peer of tokenizer_bench: runs the tokenizers library on one thread, in batches.

  tokenizer_hf.py encode|decode tokenizer.json lines.txt [--seconds S]
"""
import argparse
import json
import os
import time

os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")

from tokenizers import Tokenizer


def check_of(values):
    state = 0
    for value in values:
        state = (state * 1_000_003 + value + 1) % 2_147_483_647
    return state


def seconds_per_pass(at_least, one_pass):
    one_pass()
    begin, passes = time.process_time(), 0
    while time.process_time() - begin < at_least:
        one_pass()
        passes += 1
    return (time.process_time() - begin) / passes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["encode", "decode"])
    parser.add_argument("tokenizer")
    parser.add_argument("lines")
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(args.tokenizer)
    with open(args.lines, encoding="utf-8", newline="\n") as file:
        lines = file.read().removesuffix("\n").split("\n")
    encode = lambda: tokenizer.encode_batch_fast(lines, add_special_tokens=False)
    ids, decoded = [encoding.ids for encoding in encode()], []
    if args.what == "encode":
        pass_s = seconds_per_pass(args.seconds, encode)
    else:
        decode = lambda: tokenizer.decode_batch(ids, skip_special_tokens=False)
        pass_s, decoded = seconds_per_pass(args.seconds, decode), decode()
    texts = decoded or [""] * len(ids)
    values = (v for row, text in zip(ids, texts) for v in (*row, *text.encode()))
    size = sum(len(line.encode()) for line in lines)
    print(json.dumps({"name": f"{args.what}, tokenizers", "value": round(1e-6 * size / pass_s, 3),
                      "unit": "MB/CPU-s", "check": check_of(values)}))


if __name__ == "__main__":
    main()
