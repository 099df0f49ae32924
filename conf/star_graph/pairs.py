#!/usr/bin/env python3
"""Keeps the graphs of which a right and a wrong path were drawn, as Q# does.

    python3 conf/star_graph/pairs.py outputs/star_rollouts/latest/results.jsonl pairs.jsonl

The two rows of a graph follow each other, so that they are packed into one sequence of a batch.
"""
import json
import sys


def main():
    source, target = sys.argv[1:]
    kept = 0
    graphs = {}
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        for line in lines:
            row = json.loads(line)
            both = graphs.setdefault(row["prompt_index"], {})
            both[row["score"]] = {name: row[name] for name in ("prompt_ids", "output_ids", "score")}
            if len(both) == 2:
                kept += 1
                for path in graphs.pop(row["prompt_index"]).values():
                    out.write(json.dumps(path) + "\n")
    print(f"{kept} graphs with a right and a wrong path: {target}")


if __name__ == "__main__":
    main()
