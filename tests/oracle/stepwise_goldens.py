"""Makes tests/rows/goldens/stepwise.jsonl: the tokens and labels of solutions in TRL's PRMTrainer.

Each line has a row of stepwise supervision, a tokenizer's folder and a separator. It has the result
of PRMTrainer.tokenize_row of TRL 1.13.0, too. Later versions of TRL have no PRMTrainer.

    python3 -m venv trl && trl/bin/pip install torch transformers==5.23.0 trl==1.13.0
    trl/bin/python tests/oracle/stepwise_goldens.py [--check]
"""
import itertools
import json
import pathlib
import sys

from transformers import AutoTokenizer
from trl.experimental.prm import PRMTrainer

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = TOP / "tests" / "rows" / "goldens" / "stepwise.jsonl"
FOLDERS = ("conf/collect/arithmetic/model", "conf/examples/tiny_lm/model", "conf/examples/sms_spam/model")
ROWS = (
    ("1 + 2 + 3 =", ["1 + 2 = 3", "3 + 3 = 6", "#### 6"], [True, True, True]),
    ("2 - 7 =", ["2 - 7 = 5"], [False]),
    ("12 + 5 =\n", ["12 + 5 = 18\n", "#### 18"], [False, False]),
    ("the cat", [" sat on", " the mat", " again", "."], [True, False, True, False]),
)
SEPARATORS = ("\n", " ", "")


def golden(folder, row, separator):
    prompt, completions, labels = row
    tokens = PRMTrainer.tokenize_row(
        {"prompt": prompt, "completions": completions, "labels": labels},
        AutoTokenizer.from_pretrained(TOP / folder), separator, max_length=None,
        max_completion_length=None, train_on_last_step_only=False, is_eval=False)
    return json.dumps({"folder": folder, "prompt": prompt, "completions": completions,
                       "labels": [int(label) for label in labels], "separator": separator,
                       "token_ids": tokens["input_ids"], "token_labels": tokens["labels"]})


lines = [golden(*case) for case in itertools.product(FOLDERS, ROWS, SEPARATORS)]
text = "".join(line + "\n" for line in lines)
if "--check" not in sys.argv:
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(text)
elif OUT.read_text() != text:
    raise SystemExit(f"{OUT.name} differs")
else:
    print(f"{OUT.name}: {len(lines)} lines are the same")
