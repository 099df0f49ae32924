"""After any kill at any time, the same command gives the same bytes on any number of ranks.

MGPU_E2E_SEED and MGPU_E2E_KILLS (kills per test) try other instants.
"""
import dataclasses
import json
import os
import pathlib
import random
import shutil
import signal
import time

import program
import tiny_lm
from collect_case import questions

SEED = int(os.environ.get("MGPU_E2E_SEED", "1"))
KILLS = int(os.environ.get("MGPU_E2E_KILLS", "3"))
CONF = program.TOP / "conf"


@dataclasses.dataclass(frozen=True)
class KilledRun:
    """A run named tiny, which saves after each step. It is so long that most kills hit its work."""
    config: pathlib.Path
    keys: tuple
    ranks: tuple = (1, 2, 4)
    files: tuple = ("results.h5", "ckpt/last/model.safetensors", "ckpt/last/trainer.safetensors")


RUNS = {
    "ad": KilledRun(program.TINY,
                    ("train.max_steps=100", "train.eval_every=25", "checkpoint.every=1"),
                    files=program.GOLDEN_FILES),
    # Two steps per sampling, and replaced groups: the completions and the position in the prompts
    # have to survive.
    "grpo": KilledRun(CONF / "train/grpo.yaml",
                      ("run.name=tiny", "model.path=null",
                       f"model.init={program.SMALL_LM}", "train.max_steps=40",
                       "train.global_batch_size=16", "train.lanes=4", "grpo.group_size=4",
                       "grpo.max_new_tokens=6", "grpo.num_iterations=2", "grpo.refill=2",
                       "grpo.beta=0.05", "reward.functions={regex: 1}", "reward.regex=e",
                       "checkpoint.every=1", "checkpoint.keep=2")),
    "value": KilledRun(CONF / "train/value.yaml",
                       ("run.name=tiny", f"model.init={program.SMALL_LM}", "train.lanes=4",
                        "train.max_steps=40", "train.eval_every=10", "checkpoint.every=1",
                        "checkpoint.keep=2")),
}

DURABLE_PLACES = {
    "run record": "write rename",
    "lease": "write",
    "attempt": "write rename",
    "repro": "rename",
    "ledger": "create write sync dirsync close",
    "histories": "create reserve open write verify close sync rename dirsync",
    "checkpoint": "mkdir create reserve write sync close rename dirsync link remove",
    "results": "create reserve open write verify close sync rename dirsync",
    "report": "rename",
    "summary": "rename",
    "timings": "create rename",
    "events": "write",
    "tensorboard": "write",
}
BEFORE_THE_RUN = ("lease.write", "run record.write", "run record.rename")


def one_rank(random_source, job):
    ranks = job.ranks()
    return [random_source.choice(ranks)] if ranks else []


def all_ranks(_, job):
    return job.ranks()


def launcher(_, job):
    return [job.process.pid]


def any_victims(random_source, job):
    return random_source.choice((one_rank, all_ranks, launcher))(random_source, job)


class RandomKills(program.ProgramTest):

    def golden_of(self, run):
        """Returns the hashes of an uninterrupted run, and its seconds after the ranks' start."""
        elsewhere = self.folder / "golden"
        job = self.start(1, *run.keys, f"run.output={elsewhere}", config=run.config)
        job.wait_until(lambda: list(elsewhere.glob("tiny/2*/attempts/*.json")))
        working_since = time.monotonic()
        ended = job.wait()
        self.assertEqual(ended.code, 0, ended.err)
        work_s = time.monotonic() - working_since
        return program.hashes_of(elsewhere / "tiny/latest", run.files), work_s

    def kill_until(self, run, kills, victims_of):
        """Finishes runs in spite of `kills` kills in all; each must give the golden bytes."""
        golden, work_s = self.golden_of(run)
        hashes = lambda: program.hashes_of(self.run_folder(), run.files)
        random_source = random.Random(SEED)
        begin = time.monotonic()
        killed = attempts = finished = 0
        while killed < kills:
            ranks = random_source.choice(run.ranks)
            # Every other time the surviving ranks live on for a second or two.
            job = self.start(ranks, *run.keys, config=run.config,
                             env=program.AT_ONCE if attempts % 2 == 0 else {})
            attempts += 1
            known = len(list(self.output.glob("tiny/2*/attempts/*.json")))
            job.wait_until(lambda: len(list(self.output.glob("tiny/2*/attempts/*.json"))) > known)
            working_since = time.monotonic()
            instant = working_since + random_source.uniform(-0.1, 0.6) * work_s
            job.wait_until(lambda: time.monotonic() >= instant)
            victims = victims_of(random_source, job) if job.is_running() else []
            for pid in victims:
                program.send(pid, signal.SIGKILL)
            killed += bool(victims)
            ended = job.wait()
            if ended.code == 0:
                finished += 1
                self.assertEqual(hashes(), golden, f"after {killed} kills, seed {SEED}")
        self.run_to(0, random_source.choice(run.ranks), *run.keys, config=run.config)
        self.assertEqual(hashes(), golden, f"after {killed} kills, seed {SEED}")
        print(f"{killed} kills, {attempts + 1} attempts, {finished + 1} runs finished, "
              f"{time.monotonic() - begin:.0f} s, seed {SEED}", flush=True)

    def test_one_rank(self):
        self.kill_until(RUNS["ad"], KILLS, one_rank)

    def test_all_ranks(self):
        self.kill_until(RUNS["ad"], KILLS, all_ranks)

    def test_mpirun(self):
        self.kill_until(RUNS["ad"], KILLS, launcher)

    def test_grpo(self):
        self.kill_until(RUNS["grpo"], KILLS, any_victims)

    def test_value(self):
        self.kill_until(RUNS["value"], KILLS, any_victims)

    def collection(self, config, *keys):
        """Returns a run of job collect with 96 questions, on a model folder that this makes."""
        model = tiny_lm.make_folder(self.folder / "model")
        rows = tiny_lm.write_rows(self.folder / "questions.jsonl", questions(96))
        return KilledRun(program.HERE / config, (f"model.path={model}", f"data.path={rows}", *keys),
                         files=("results.h5",))

    def test_steps_of_texts(self):
        self.kill_until(self.collection("collect.yaml"), KILLS, any_victims)

    def test_latent_steps(self):
        agents = self.folder / "agents.json"
        agents.write_text(json.dumps({"agents": [
            {"name": "planner", "prompt": "{question}"},
            {"name": "judger", "prompt": " {context}{question} "}]}))
        run = self.collection("latent.yaml", f"collect.agents.path={agents}")
        self.kill_until(run, KILLS, any_victims)


class SystematicKills(program.ProgramTest):
    """Kills a rank at its first arrival at each durable place."""

    def kill_at_each_place_of(self, *whats):
        golden = self.golden()
        for what in whats:
            for number, call in enumerate(DURABLE_PLACES[what].split()):
                place = f"{what}.{call}"
                with self.subTest(place=place):
                    shutil.rmtree(self.output, ignore_errors=True)
                    self.run_to(137, 2, env=program.failpoint(f"{place}:1:kill"))
                    self.run_to(0, 1 + number % 2)
                    self.assertEqual(self.hashes(), golden)
                    if place not in BEFORE_THE_RUN:
                        self.assertEqual(self.num_runs(), 1, "nothing was resumed")

    def test_records_of_the_run(self):
        self.kill_at_each_place_of("run record", "lease", "attempt", "repro", "report", "summary")

    def test_how_the_run_went(self):
        self.kill_at_each_place_of("timings", "events", "tensorboard")

    def test_ledger(self):
        self.kill_at_each_place_of("ledger")

    def test_histories(self):
        self.kill_at_each_place_of("histories")

    def test_checkpoint(self):
        self.kill_at_each_place_of("checkpoint")

    def test_results(self):
        self.kill_at_each_place_of("results")


if __name__ == "__main__":
    program.main()
