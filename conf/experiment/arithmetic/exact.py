"""This reward command gives 1 to the right sum, and 0 to any other answer.

It reads and writes a JSON object per line, as docs/grpo.md says.
"""
import json
import re
import sys

for line in sys.stdin:
    row = json.loads(line)
    first, sign, second = re.fullmatch(r"(\d+) ([+-]) (\d+) =", row["prompt"]).groups()
    found = re.match(r"\s*(-?\d+)", row["completion"])
    is_right = found is not None and int(found[1]) == int(first) + int(sign + second)
    print(json.dumps({"row": row["row"], "reward": float(is_right)}), flush=True)
