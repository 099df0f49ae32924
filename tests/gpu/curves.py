"""What two runs did, from their run directories.

  curves.py compare A B --within 0.02    loss curves agree, as a share of the first loss
  curves.py rate A                       optimizer steps per second, from the second event on
"""

import argparse
import json
import pathlib
import sys


def losses(run):
    import h5py
    with h5py.File(pathlib.Path(run) / "results.h5") as file:
        table = file["metrics/train"]
        return table["step"][:], table["loss"][:]


def compare(a, b, within):
    steps_a, loss_a = losses(a)
    steps_b, loss_b = losses(b)
    if len(steps_a) != len(steps_b) or len(steps_a) == 0 or (steps_a != steps_b).any():
        sys.exit(f"other steps: {len(steps_a)} and {len(steps_b)}")
    away = abs(loss_a - loss_b) / loss_a[0]
    for i in sorted({0, 9, 49, 99, len(steps_a) - 1}):
        if i < len(steps_a):
            print(f"  step {steps_a[i]:6d}  loss {loss_a[i]:.4f} and {loss_b[i]:.4f}")
    worst = int(away.argmax())
    print(f"  farthest apart at step {steps_a[worst]}: {away[worst]:.2e} of the first loss")
    if not away[worst] <= within:  # a NaN is not within anything
        sys.exit(f"the curves are farther apart than {within}")
    if not loss_a[-1] < loss_a[0]:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compare", "rate"])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--within", type=float, default=0.02)
    options = parser.parse_args()
    if options.what == "compare":
        compare(*options.runs, options.within)
    else:
        print(f"{rate(options.runs[0]):.2f}")


main()
