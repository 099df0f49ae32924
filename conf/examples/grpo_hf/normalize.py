#!/usr/bin/env python3
"""Makes rows for recipe value from judged answers: normalize.py RESULTS.jsonl > ROWS.jsonl.

The labels are the proxy's rewards, moved and scaled so that the lowest is 0 and the highest is 1.
"""
import json
import sys

with open(sys.argv[1]) as file:
    answers = [json.loads(line) for line in file]
rewards = [answer["reward_model"] for answer in answers]
lowest, highest = min(rewards), max(rewards)
for answer, reward in zip(answers, rewards):
    if answer["output_ids"]:
        print(json.dumps({"token_ids": answer["prompt_ids"], "completion_ids": answer["output_ids"],
                          "label": (reward - lowest) / (highest - lowest)}))
