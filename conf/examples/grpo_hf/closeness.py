"""The true reward of the example: 1 for the right sum, and 0.2 less for each 1 that it is off.

It stands for people who prefer the closer answer. An answer without a number, or one that is 5 or
more off, gets 0. Reads and writes a JSON object per line (reward.command).
"""
import json
import re
import sys

for line in sys.stdin:
    row = json.loads(line)
    first, sign, second = re.fullmatch(r"(\d+) ([+-]) (\d+) =", row["prompt"]).groups()
    total = int(first) + int(sign + second)
    found = re.match(r"\s*(-?\d+)", row["completion"])
    error = abs(int(found[1]) - total) if found else 5
    print(json.dumps({"row": row["row"], "reward": 1 - min(error, 5) / 5}), flush=True)
