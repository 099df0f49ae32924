#!/usr/bin/env python3
"""Compares our program with a peer: runs both in turn (A B A B ...), prints medians and ratio.

  compare.py --ours 'build/tests/bench/histories_bench' --peer 'python3 histories_numpy.py'

Each command's last line is a JSON object with "name", "value" (a rate: more is better), and "unit".
Its optional "check" is a result that must agree within --tolerance, as a proof of equal work.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys

import ratio


def run(command):
    done = subprocess.run(shlex.split(command), check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def median(results):
    return dict(results[0], value=statistics.median(r["value"] for r in results))


def interval(ratios):
    """Returns the 95 % interval as a member of the result; {} with too few rounds."""
    if len(ratios) < ratio.LEAST_ROUNDS:
        return {}
    return {"interval": [round(end, 2) for end in ratio.interval(ratios)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tolerance", type=float, default=0.01, help="of check, relative")
    args = parser.parse_args()
    rounds = [(run(args.ours), run(args.peer)) for _ in range(args.rounds)]
    ours, peer = (median(results) for results in zip(*rounds))
    for result in (ours, peer):
        print(json.dumps(result))
    ratios = [mine["value"] / theirs["value"] for mine, theirs in rounds]
    print(json.dumps({"name": f"{ours['name']} / {peer['name']}",
                      "value": round(ours["value"] / peer["value"], 2), "unit": "ratio",
                      "rounds": args.rounds} | interval(ratios)))
    difference = abs(ours.get("check", 0) - peer.get("check", 0))
    if not difference <= args.tolerance * abs(peer.get("check", 0)):  # true for NaN, too
        sys.exit("the results differ: this is not the same work")


if __name__ == "__main__":
    main()
