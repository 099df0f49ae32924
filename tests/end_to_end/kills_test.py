"""After any kill at any time, the same command gives the same bytes on any number of ranks.

MGPU_E2E_SEED and MGPU_E2E_KILLS (kills per test) try other instants.
"""
import os
import random
import shutil
import signal
import time

import program

SEED = int(os.environ.get("MGPU_E2E_SEED", "1"))
KILLS = int(os.environ.get("MGPU_E2E_KILLS", "10"))
# Long enough that most instants hit the work itself: about 100 saves.
LONG = ("train.max_steps=100", "train.eval_every=25", "checkpoint.every=1")

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


class RandomKills(program.ProgramTest):

    def kill_until(self, kills, victims_of):
        """Finishes runs in spite of `kills` kills in all; each must give the golden bytes."""
        golden = self.golden(*LONG)
        random_source = random.Random(SEED)
        begin = time.monotonic()
        killed = attempts = finished = 0
        work_s = 1.0  # from the run directory to the end of the last run that reached it
        while killed < kills:
            ranks = random_source.choice((1, 2, 4, 8))
            # Every other time the surviving ranks live on for a second or two.
            job = self.start(ranks, *LONG, env=program.AT_ONCE if attempts % 2 == 0 else {})
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
                work_s = max(0.3, time.monotonic() - working_since)
                self.assertEqual(self.hashes(), golden, f"after {killed} kills, seed {SEED}")
        self.run_to(0, random_source.choice((1, 2, 4, 8)), *LONG)
        self.assertEqual(self.hashes(), golden, f"after {killed} kills, seed {SEED}")
        print(f"{killed} kills, {attempts + 1} attempts, {finished + 1} runs finished, "
              f"{time.monotonic() - begin:.0f} s, seed {SEED}", flush=True)

    def test_one_rank(self):
        self.kill_until(KILLS, one_rank)

    def test_all_ranks(self):
        self.kill_until(KILLS, all_ranks)

    def test_mpirun(self):
        self.kill_until(KILLS, launcher)


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
