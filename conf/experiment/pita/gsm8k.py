"""This reward command gives 1 to a right answer to a question of GSM8K, and 0 to any other answer.

The data set judges answers to its prompts only, and not completions of stored beginnings
(docs/value.md). So this command judges both, with the same rule. It finds the question in the
prompt, and reads the right answers from the folder $GSM8K. The answer is the number in the last
\\boxed{}, else after the last ####, else the last number. It reads and writes a JSON object per
line, as docs/grpo.md says.
"""
import json
import os
import pathlib
import re
import sys
from fractions import Fraction

NUMBER = re.compile(r"-?(?:\d[\d,]*)?\.?\d+(?:/[1-9]\d*)?")
QUESTION = re.compile(r"Problem:\n(.*?)\n\nWrite the final answer", re.S)


def numbers_in(text):
    """Returns the numbers in a text, such as 1,200, .5 or 3/4."""
    return [Fraction(*map(Fraction, found.replace(",", "").split("/")))
            for found in NUMBER.findall(text)]


def answer_of(completion):
    """Returns the number that the completion states as its answer; None without a number."""
    boxes = re.findall(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}", completion)
    if boxes:
        found = numbers_in(boxes[-1])
        return found[0] if found else None
    found = numbers_in(completion.rsplit("####", 1)[1].split("\n")[0] if "####" in completion
                       else completion)
    return found[-1] if found else None


def read_answers():
    """Returns the right answer to each question of the training file."""
    file = pathlib.Path(os.environ["GSM8K"]) / "train.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    return {row["question"]: answer_of(row["answer"]) for row in rows}


def main():
    answers = read_answers()
    for line in sys.stdin:
        row = json.loads(line)
        question = QUESTION.search(row["prompt"])[1]
        is_right = answer_of(row["completion"]) == answers[question]
        print(json.dumps({"row": row["row"], "reward": float(is_right)}), flush=True)


if __name__ == "__main__":
    main()
