#!/usr/bin/env python3
"""Compares an experiment of two stages on two ranks with the same on one rank.

    tests/bench/experiment_pair.py [ROUNDS]

Each stage trains a small language model and takes one rank. The time is that from the first begin
to the last end of a stage in job_states.json, so starting the program does not count. The rounds
alternate, and the script prints the median of the ratios of both times.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "conf" / "examples"
STAGE = """schema: 1
job: train
model: {{init: {conf}/tiny_lm/model}}
data: {{path: {conf}/pairs/answers.jsonl}}
run: {{seed: {seed}}}
train: {{seq_len: 64, global_batch_size: 16, lanes: 1, max_steps: 60, learning_rate: 2e-3}}
checkpoint: {{keep: 1}}
"""
EXPERIMENT = """schema: 1
job: experiment
run: {{name: pair, output: {output}}}
experiment: {{folder: stages, stages: [a, b], ranks: {{a: 1, b: 1}}}}
"""


def seconds_of(ranks):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "stages").mkdir()
        for seed, stage in enumerate("ab"):
            text = STAGE.format(conf=EXAMPLES, seed=seed)
            (folder / "stages" / f"{stage}.yaml").write_text(text)
        config = folder / "pair.yaml"
        config.write_text(EXPERIMENT.format(output=folder / "outputs"))
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
        subprocess.run(["mpirun", "--bind-to", "none", "-np", str(ranks), TOP / "mgpu_spmd",
                        config, "-q"], check=True, env=environment, stdout=subprocess.DEVNULL)
        states = json.loads((folder / "outputs/pair/latest/job_states.json").read_text())
    stages = states["stages"]
    return max(stage["end_s"] for stage in stages) - min(stage["begin_s"] for stage in stages)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    ratios = []
    for _ in range(rounds):
        alone, together = seconds_of(1), seconds_of(2)
        ratios.append(together / alone)
        print(f"one after the other {alone:.2f} s, at the same time {together:.2f} s, "
              f"ratio {ratios[-1]:.3f}", flush=True)
    print(f"median of {rounds} ratios: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
