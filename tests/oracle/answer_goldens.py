"""Makes goldens of the comparison of answers from the math-verify wheel.

  python3 tests/oracle/answer_goldens.py tests/datasets/goldens/answers.tsv           # writes
  python3 tests/oracle/answer_goldens.py tests/datasets/goldens/answers.tsv --check   # compares

Made with math-verify 0.9.0 (pip install math-verify[antlr4-13-2]==0.9.0). A line has the kind of the
pair, the expected answer, a completion, and 1 if math-verify finds the answers equal, otherwise 0.
The sign ⏎ stands for a line end of the completion.
"""
import logging
import pathlib
import random
import sys

from math_verify import parse, verify

COUNTS = {"integer": 300, "long_integer": 100, "decimal": 200, "fraction": 260, "boxed": 300,
          "marked": 160, "thousands": 120, "percent": 80, "sign": 80, "unit": 110, "dollar": 90,
          "spacing": 70, "assignment": 40, "mixed": 30, "power": 20, "list": 20, "word": 10,
          "rounded": 5, "root": 5}


class Maker:
    def __init__(self, seed):
        self.dice = random.Random(seed)

    def near(self, value):
        """Returns the value, or in half of the cases a value near it."""
        return value if self.dice.random() < 0.5 else value + self.dice.choice([-10, -1, 1, 7])

    def sentence(self, answer):
        return self.dice.choice(["The answer is {}.", "So she has {}", "Answer: {}", "{}",
                                 "In total that makes {}.", "We get 4 and then {}."]).format(answer)

    def solution(self, answer):
        return self.dice.choice([
            "Adding 3 and 4 we get \\boxed{{{}}}.", "\\boxed{{{}}}", "Thus $\\boxed{{{}}}$",
            "First 12, then the result: $$\\boxed{{{}}}$$", "\\[ \\boxed{{{}}} \\]",
            "The answer is \\boxed{{{}}} as 2 is even."]).format(answer)

    def fraction(self, top, bottom):
        form = self.dice.randrange(5)
        if form == 0:
            return f"\\dfrac{{{top}}}{{{bottom}}}"
        if form == 1 and 0 < top < 10 and bottom < 10:
            return f"\\frac{top}{bottom}"
        if form == 2:
            return f"{top}/{bottom}"
        if form == 3:
            return f"\\tfrac{{{top}}}{{{bottom}}}"
        return f"\\frac{{{top}}}{{{bottom}}}"

    def integer(self):
        value = self.dice.randrange(2000)
        return str(value), self.sentence(max(0, self.near(value)))

    def long_integer(self):
        value = self.dice.randrange(10 ** 20, 10 ** 40)
        other = self.near(value)
        return str(value), self.dice.choice([self.sentence, self.solution])(other)

    def decimal(self):
        value, places = self.dice.randrange(1, 9999), self.dice.choice([1, 2, 3])
        text = f"{self.near(value) / 10 ** places:.{places}f}".replace("-", "")
        return (f"{value / 10 ** places:.{places}f}",
                self.dice.choice([self.sentence, self.solution])(
                    text + self.dice.choice(["", "0", "00"])))

    def fraction_pair(self):
        top, bottom, times = (self.dice.randrange(1, 60), self.dice.choice([2, 3, 4, 5, 7, 8, 9, 12]),
                              self.dice.choice([1, 1, 2, 3]))
        other = abs(self.near(top)) or 1
        return f"$\\frac{{{top}}}{{{bottom}}}$", self.solution(
            self.fraction(other * times, bottom * times))

    def boxed(self):
        value = self.dice.randrange(1, 500)
        if self.dice.random() < 0.3:
            bottom = self.dice.choice([2, 4, 5, 8])
            return f"$\\frac{{{value}}}{{{bottom}}}$", self.solution(self.near(value) / bottom)
        wrong = self.dice.randrange(1, 500)
        return str(value), (f"We try {wrong} first. " if self.dice.random() < 0.5 else "") + \
            self.solution(self.near(value))

    def marked(self):
        value = self.dice.randrange(1, 90000)
        shown = self.near(value)
        text = self.dice.choice([f"{shown}", f"{shown:,}", f"${shown}"])
        return str(value), f"{self.dice.randrange(90)} and 5 more.⏎#### {text}"

    def thousands(self):
        value = self.dice.randrange(1000, 10 ** 9)
        shown = f"{self.near(value):,}"
        if self.dice.random() < 0.3:
            return str(value), self.solution(shown.replace(",", "{,}"))
        return str(value), self.dice.choice([self.sentence, self.solution])(shown)

    def percent(self):
        value = self.dice.randrange(1, 100)
        gold = self.dice.choice([str(value), str(value), f"{value / 100}"])
        shown = self.near(value)
        return gold, self.dice.choice([self.sentence(f"{shown}%"), self.solution(f"{shown}\\%")])

    def sign(self):
        value = self.dice.randrange(1, 300)
        sign = self.dice.choice(["-", "+", "", "-"])
        return f"-{value}", self.solution(f"{sign}{self.near(value)}")

    def unit(self):
        value = self.dice.randrange(1, 300)
        unit = self.dice.choice([" cm", "\\text{ cm}", "\\text{ dollars}", " \\mathrm{km}", " apples",
                                 "\\text{ square meters}", "^\\circ", " hours", "\\ \\text{m}^2"])
        return str(value), self.solution(f"{abs(self.near(value))}{unit}")

    def dollar(self):
        cents = self.dice.randrange(100, 99999)
        other = abs(self.near(cents))
        shown = f"{other / 100:.2f}"
        return f"{cents / 100:.2f}", self.dice.choice(
            [self.sentence(f"${shown}"), self.solution(f"\\${shown}")])

    def spacing(self):
        value = self.dice.randrange(1, 99)
        return f"$\\frac{{{value}}}{{7}}$", self.solution(self.dice.choice(
            ["\\ {}", "\\!{}", "  {}  ", "\\;{}\\;"]).format(
                f"\\frac{{ {abs(self.near(value))} }}{{7}}"))

    def assignment(self):
        value = self.dice.randrange(1, 500)
        return str(value), self.solution(self.dice.choice(["x = {}", "n={}", "y ={}"]).format(
            abs(self.near(value))))

    def mixed(self):
        whole, top = self.dice.randrange(1, 20), self.dice.choice([1, 3])
        return f"$\\frac{{{4 * self.near(whole) + top}}}{{4}}$", self.solution(
            f"{whole}\\frac{{{top}}}{{4}}")

    def power(self):
        value, power = self.dice.randrange(1, 50), self.dice.randrange(1, 7)
        return str(self.near(value) * 10 ** power), self.solution(f"{value} \\times 10^{power}")

    def list(self):
        first, second = self.dice.randrange(20), self.dice.randrange(20, 40)
        return f"$({first}, {second}, 5)$", self.solution(f"({first},{self.near(second)}, 5)")

    def word(self):
        first, second = self.dice.choice("ABCD"), self.dice.choice("ABCD")
        return f"$\\text{{{first}}}$", self.solution(f"\\text{{{second}}}")

    def rounded(self):
        return "$\\frac{1}{3}$", self.solution("0." + "3" * self.dice.randrange(6, 12))

    def root(self):
        value = self.dice.randrange(2, 9)
        return f"$\\sqrt{{{4 * value}}}$", self.solution(f"2\\sqrt{{{value}}}")


def lines():
    maker = Maker(7)
    for kind, count in COUNTS.items():
        make = getattr(maker, "fraction_pair" if kind == "fraction" else kind)
        for _ in range(count):
            gold, completion = make()
            same = verify(parse(gold), parse(completion.replace("⏎", "\n")))
            yield f"{kind}\t{gold}\t{completion}\t{int(same)}\n"


def main():
    logging.disable(logging.WARNING)
    path = pathlib.Path(sys.argv[1])
    text = "".join(lines())
    assert text.count("\n") == 2000, text.count("\n")
    if "--check" in sys.argv:
        assert path.read_text(encoding="utf-8") == text, f"{path} differs"
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
