"""Makes 12,000 texts that are hard for a tokenizer, equal to those of tests/text/hard_texts.hpp.

hard_texts.json holds their parts: whole texts that come first, fragments, and ranges of characters
with many new, odd and changing ones. A text is a function of its number.
"""
import json
import pathlib

COUNT = 12_000
MASK = (1 << 64) - 1


def mix(x):
    """Applies the finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


class Draws:
    """Draws integers that depend on a text's number and the count of previous draws."""

    def __init__(self, number):
        self.counter = number << 20

    def below(self, n):
        self.counter += 1
        return (mix(self.counter * 0x9E3779B97F4A7C15 & MASK) >> 32) * n >> 32


def make_texts(path):
    made_of = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    texts = list(made_of["texts"])
    for number in range(len(texts), COUNT):
        draws, text = Draws(number), ""
        for _ in range(1 + draws.below(40)):
            kind = draws.below(100)
            if kind < 30:
                text += made_of["fragments"][draws.below(len(made_of["fragments"]))]
            elif kind < 60:
                text += chr(32 + draws.below(95))
            else:
                first, last = made_of["ranges"][draws.below(len(made_of["ranges"]))]
                text += chr(first + draws.below(last - first + 1))
        texts.append(text)
    return texts


def make_ids(number, vocab_size):
    """Returns up to 24 ids, a few of which have no token."""
    draws = Draws(number + (1 << 30))
    return [draws.below(vocab_size + 2) for _ in range(draws.below(25))]
