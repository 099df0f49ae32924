"""This reward command gives 1 to a right answer to a question of GSM8K, and 0 to any other answer.

It judges completions of stored beginnings, which the data set cannot judge (docs/value.md). It
finds the question in the prompt, and reads the right answers from the folder $GSM8K. It reads and
writes a JSON object per line, as docs/grpo.md says.
"""
import json
import os
import pathlib
import re
import sys
from fractions import Fraction


def number_in(text):
    """Returns the number in the text, such as 1,200 or 3/4; None if there is no plain number."""
    plain = re.sub(r"[,$\s\\%]", "", text)
    return Fraction(plain) if re.fullmatch(r"-?\d+(\.\d+|/[1-9]\d*)?", plain) else None


def read_answers():
    """Returns the right answer to each question of the training file."""
    file = pathlib.Path(os.environ["GSM8K"]) / "train.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    return {row["question"].strip(): number_in(row["answer"].rsplit("####", 1)[1]) for row in rows}


def main():
    answers = read_answers()
    for line in sys.stdin:
        row = json.loads(line)
        expected = [answer for question, answer in answers.items() if question in row["prompt"]]
        found = re.findall(r"\\boxed\{([^{}]*)\}", row["completion"])
        answer = number_in(found[-1]) if found else None
        is_right = answer is not None and expected == [answer]
        print(json.dumps({"row": row["row"], "reward": float(is_right)}), flush=True)


if __name__ == "__main__":
    main()
