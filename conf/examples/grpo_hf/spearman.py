#!/usr/bin/env python3
"""Prints Spearman's rank correlation of two rewards: spearman.py results.jsonl [FIRST SECOND].

The rows are those of `--export jsonl`. Equal rewards share the mean of their ranks.
"""
import json
import statistics
import sys


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for i in order[begin:end]:
            found[i] = (begin + end - 1) / 2
        begin = end
    return found


path, *names = sys.argv[1:]
names = names or ["reward_model", "reward_command"]
with open(path) as file:
    rows = [json.loads(line) for line in file]
columns = [[row[name] for row in rows] for name in names]
rho = statistics.correlation(*map(ranks, columns))
print(f"Spearman's rank correlation of {' and '.join(names)}: {rho:.4f} over {len(rows)} samples")
