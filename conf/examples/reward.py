"""A reward command: 1 for a completion that is the answer, -0.1 for another, none for an empty one.

  ./mgpu_spmd job=generate ... 'reward.functions=[command]' reward.command='python3 conf/examples/reward.py'
"""
import json
import sys

for line in sys.stdin:
    row = json.loads(line)
    given = row["completion"].strip()
    reward = None if not given else 1.0 if given == row["answer"] else -0.1
    print(json.dumps({"row": row["row"], "reward": reward}), flush=True)
