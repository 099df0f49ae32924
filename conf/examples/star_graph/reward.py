"""This reward command gives 1 to the path to the goal of a star graph, and 0 to anything else.

Prompts are tokens as texts, such as 49|17|92|41/47= for G(2, 3), with the path 417.
  ./mgpu_spmd conf/examples/star_graph/grpo.yaml
"""
import json
import sys


def path_of(prompt):
    edges, ends = prompt.removesuffix("=").split("/")
    before = {edge[1]: edge[0] for edge in edges.split("|")}
    start, path = ends[0], ends[1]
    while path[0] != start:
        path = before[path[0]] + path
    return path


for line in sys.stdin:
    row = json.loads(line)
    is_right = row["completion"] == path_of(row["prompt"])
    print(json.dumps({"row": row["row"], "reward": float(is_right)}), flush=True)
