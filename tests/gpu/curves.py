"""Compares what two runs did, from their run directories. It needs only plain Python.

  curves.py compare A B --within 0.02    fails if the losses differ by more than this share of the
                                         first loss, or do not fall
  curves.py completions A B              fails if the completions of two runs of job generate differ
  curves.py rate A                       prints steps per second, from the second event on
"""

import argparse
import json
import pathlib
import struct
import sys


def fields(message):
    """Yields (number, value) of each field of a protocol-buffer message: bytes or an integer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        yield number, message[at:at + size]
        at += size


def scalars(run, tag):
    """Returns {step: (wall-clock seconds, value)} from the run's TensorBoard file."""
    found = {}
    for path in sorted(pathlib.Path(run).glob("tb/**/events.out.tfevents.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            event = dict(fields(data[at + 12:at + 12 + size]))  # a length and its checksum
            at += 12 + size + 4
            value = dict(fields(dict(fields(event.get(5, b""))).get(1, b"")))
            if value.get(1) == tag.encode():
                found[event[2]] = struct.unpack("<d", event[1]) + struct.unpack("<f", value[2])
    return found


def losses(run):
    """Returns {step: loss} of every step."""
    return {step: loss for step, (_, loss) in scalars(run, "train/loss").items()}


def compare(a, b, within):
    curve_a, curve_b = losses(a), losses(b)
    if not curve_a or list(curve_a) != list(curve_b):
        sys.exit(f"other steps: {len(curve_a)} and {len(curve_b)}")
    steps = list(curve_a)
    away = {step: abs(curve_a[step] - curve_b[step]) / curve_a[steps[0]] for step in steps}
    for i in sorted({0, 9, 49, 99, len(steps) - 1}):
        if i < len(steps):
            print(f"  step {steps[i]:6d}  loss {curve_a[steps[i]]:.4f} and {curve_b[steps[i]]:.4f}")
    worst = max(steps, key=away.get)
    print(f"  farthest apart at step {worst}: {away[worst]:.2e} of the first loss")
    if not all(distance <= within for distance in away.values()):  # false for NaN
        sys.exit(f"the curves are farther apart than {within}")
    if not curve_a[steps[-1]] < curve_a[steps[0]]:
        sys.exit("the loss did not fall")


def rate(run):
    marks = []
    for line in open(pathlib.Path(run) / "events.jsonl", encoding="utf-8"):
        event = json.loads(line)
        if event["event"] == "train" and "step" in event:
            marks.append((event["elapsed_s"], event["step"]))
    if len(marks) < 3:
        sys.exit("the run is too short for a rate")
    (begin_s, first), (end_s, last) = marks[1], marks[-1]
    return (last - first) / (end_s - begin_s)


def completions(a, b):
    """Compares greedy completions: a near tie may be decided differently, and change the rest."""
    said = []
    for run in (a, b):
        with open(pathlib.Path(run) / "results.jsonl", encoding="utf-8") as lines:
            said.append([json.loads(line) for line in lines])
    if not said[0] or len(said[0]) != len(said[1]):
        sys.exit(f"other rows: {len(said[0])} and {len(said[1])}")
    same = [(x, y) for x, y in zip(*said) if x["output_ids"] == y["output_ids"]]
    print(f"  {len(same)} of {len(said[0])} completions are the same")
    if len(same) < 0.9 * len(said[0]):
        sys.exit("the completions differ")
    away = [abs(p - q) for x, y in same
            for p, q in zip(x["output_log_probs"], y["output_log_probs"])]
    print(f"  their log-probabilities are at most {max(away):.1e} apart")
    if not max(away) <= 1e-3:
        sys.exit("the log-probabilities differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compare", "completions", "rate"])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--within", type=float, default=0.02)
    options = parser.parse_args()
    if options.what == "compare":
        compare(*options.runs, options.within)
    elif options.what == "completions":
        completions(*options.runs)
    else:
        print(f"{rate(options.runs[0]):.2f}")


if __name__ == "__main__":
    main()
