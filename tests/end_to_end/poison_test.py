"""Rows that kill their rank twice are left out, and only those."""
import hashlib
import json
import re
import shutil
import signal

import program
import tiny_lm

MGPU_RUN = program.TOP / "launch" / "mgpu-run"
ROWS = 30
GUILTY = 7


def words(i):
    text = "the cat sat on a mat and saw the dog run".split()
    return " ".join(text[i % 7:i % 7 + 1 + i % 4])


def slow_chunks(count):
    """Returns a fault plan that delays the first chunks of every rank by a second.

    So all ranks work when one dies."""
    return ";".join(f"chunk.work:{n}:sleep" for n in range(1, count + 1))


def slow_rows(first, count):
    return ";".join(f"sample.{row}:1:sleep" for row in range(first, first + count))


class PoisonCase(program.ProgramTest):
    job = "teacher"
    more = ()
    chunk_rows = 3

    def setUp(self):
        super().setUp()
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.data = tiny_lm.write_rows(self.folder / "rows.jsonl", self.input_rows())

    def input_rows(self):
        return [{"text": words(i)} for i in range(ROWS)]

    def arguments(self, *more):
        return [program.HERE / f"{self.job}.yaml", f"model.path={self.model}",
                f"data.path={self.data}", f"run.chunk_size={self.chunk_rows}",
                f"run.output={self.output}",
                *self.more, *more]

    def run_job(self, code, ranks, *more, env=None):
        """Runs under the launcher, which restarts a world with a dead rank."""
        launcher = [MGPU_RUN, "-np", str(ranks), "--mca", "btl_vader_backing_directory",
                    self.folder, program.PROGRAM]
        job = self.start_command([*launcher, *self.arguments(*more)], env)
        ended = job.wait(170)
        self.assertEqual(ended.code, code, ended.out[-3000:] + ended.err[-3000:])
        return ended

    def run_once(self, ranks, *more, env=None):
        command = [*self.mpirun(ranks), program.PROGRAM, *self.arguments(*more)]
        return self.start_command(command, env).wait()

    def rows(self):
        folder = self.run_folder()
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]

    def sha256(self):
        return hashlib.sha256((self.run_folder() / "results.h5").read_bytes()).hexdigest()

    def deaths(self):
        file = self.run_folder() / "quarantine.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def start_over(self):
        shutil.rmtree(self.output, ignore_errors=True)

    def golden(self):
        self.run_job(0, 1)
        golden = self.sha256(), self.rows()
        self.start_over()
        return golden

    def kill_at(self, action, ranks, *more, row=GUILTY, code=1):
        plan = f"sample.{row}:1:{action};" + slow_chunks(2)
        ended = self.run_job(code, ranks, *more, env=program.failpoint(plan))
        block, alone = [(death["attempt"], death["first"], death["count"])
                        for death in self.deaths()]
        self.assertEqual((block[0], alone), (1, (2, row, 1)))
        self.assertIn(row, range(block[1], block[1] + block[2]))
        self.assertGreater(block[2], 1)
        return ended


class Teacher(PoisonCase):

    def test_a_row_that_kills_its_rank_twice_is_left_out_and_no_other(self):
        _, rows = self.golden()
        poisoned = []
        for ranks in (1, 3):
            ended = self.kill_at("kill", ranks)
            found = self.rows()
            self.assertEqual([row for row in found if row["id"] != GUILTY],
                             [row for row in rows if row["id"] != GUILTY])
            self.assertEqual(found[GUILTY]["status"], "bad_row")
            self.assertEqual(found[GUILTY]["reason"],
                             "quarantined: its rank was killed by SIGKILL in attempts 1 and 2")
            for text in (ended.out + ended.err, (self.run_folder() / "run.log").read_text(),
                         (self.run_folder() / "report.html").read_text()):
                self.assertRegex(text, r"1 row killed its rank twice and is left out: row 7")
            self.assertFalse((self.run_folder() / "working").exists())
            poisoned.append(self.sha256())
            self.start_over()
        self.assertEqual(len(set(poisoned)), 1)

    def test_a_chunk_of_which_nothing_is_left_ends_the_run_too(self):
        self.chunk_rows = 1
        for ranks in (1, 2):  # the deaths leave only the last chunk, which has this row alone
            self.run_job(1, ranks, env=program.failpoint(f"sample.{ROWS - 1}:1:segv"))
            self.assertIn("SIGSEGV in attempts 1 and 2", self.rows()[ROWS - 1]["reason"])
            self.assertEqual([row["id"] for row in self.rows() if row["status"] == "bad_row"], [ROWS - 1])
            self.start_over()

    def test_a_finished_run_keeps_it_and_tries_it_again_when_told(self):
        golden, _ = self.golden()
        self.kill_at("segv", 2, "output.max_failed=0.1", code=0)
        folder, poisoned = self.run_folder(), self.sha256()
        self.assertIn("SIGSEGV in attempts 1 and 2", self.rows()[GUILTY]["reason"])
        ended = self.run_once(1, f"--resume={folder}", "output.max_failed=0.1")
        self.assertEqual(ended.code, 0)
        self.assertIn("this run is finished", ended.out)
        self.assertEqual(self.sha256(), poisoned)
        self.run_job(0, 2, f"--resume={folder}", "output.max_failed=0.1",
                     "run.retry_quarantined=true")
        self.assertEqual(self.run_folder(), folder)
        self.assertEqual(self.sha256(), golden)
        self.assertEqual(self.deaths(), [])

    def test_two_rows_of_a_chunk(self):
        plan = "sample.7:1:segv;sample.8:1:segv"
        self.run_job(1, 1, env=program.failpoint(plan))
        found = self.rows()
        self.assertEqual([row["id"] for row in found if row["status"] == "bad_row"], [7, 8])
        self.assertIn("in attempts 1 and 2", found[7]["reason"])
        self.assertIn("in attempts 3 and 4", found[8]["reason"])

    def test_a_row_that_hangs_its_rank(self):
        self.kill_at("spin", 2, "watchdog.limit_s=4")
        self.assertIn("its rank hung in attempts 1 and 2", self.rows()[GUILTY]["reason"])

    def test_ranks_of_one_model(self):
        _, rows = self.golden()
        self.kill_at("segv", 2, "devices.gpus_per_model=2")
        self.assertEqual([row for row in self.rows() if row["id"] != GUILTY],
                         [row for row in rows if row["id"] != GUILTY])

    def test_what_is_no_fault_of_a_row_is_not_counted(self):
        golden, _ = self.golden()
        slow = program.failpoint(slow_rows(6, 3))
        ends = ((signal.SIGTERM, "launcher"), (signal.SIGKILL, "launcher"),
                (signal.SIGKILL, "ranks"))
        for attempt, (number, whom) in enumerate(ends, start=1):
            command = [*self.mpirun(2), program.PROGRAM, *self.arguments()]
            job = self.start_command(command, slow)
            self.assertTrue(job.wait_until(lambda: self.is_at_row_6(attempt)))
            for pid in job.ranks() if whom == "ranks" else [job.process.pid]:
                program.send(pid, number)
            self.assertNotEqual(job.wait().code, 0, (number, whom))
        self.run_job(0, 2)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.deaths(), [])
        self.assertEqual(self.sha256(), golden)

    def is_at_row_6(self, attempt):
        folder = self.run_folder()
        marks = folder.glob(f"working/attempt_{attempt:04}.*") if folder else []
        found = [re.search(r" at \d+ (\d+) (\d+) ", mark.read_text()) for mark in marks]
        return any(6 in range(int(at[1]), int(at[1]) + int(at[2])) for at in found if at)


class Classify(PoisonCase):
    job = "classify"

    def input_rows(self):
        return [{"text": words(i), "label": ("normal", "hate")[i % 2]} for i in range(ROWS)]

    def test_a_text_that_kills_its_rank_twice_is_left_out_and_no_other(self):
        _, rows = self.golden()
        poisoned = []
        for ranks in (1, 2, 3):
            self.kill_at("segv", ranks)
            found = self.rows()
            self.assertEqual([row for row in found if row["id"] != GUILTY],
                             [row for row in rows if row["id"] != GUILTY])
            self.assertEqual(found[GUILTY]["status"], "bad_row")
            self.assertIn("SIGSEGV in attempts 1 and 2", found[GUILTY]["reason"])
            poisoned.append(self.sha256())
            self.start_over()
        self.assertEqual(len(set(poisoned)), 1)


class Generate(PoisonCase):
    job = "generate"

    def input_rows(self):
        return [{"prompt": words(i)} for i in range(ROWS)]

    def test_a_prompt_that_kills_its_rank_twice_is_left_out_and_no_other(self):
        _, rows = self.golden()
        poisoned = []
        for ranks in (1, 3):
            self.kill_at("kill", ranks)
            found = self.rows()
            self.assertEqual([row for row in found if row["prompt_index"] != GUILTY],
                             [row for row in rows if row["prompt_index"] != GUILTY])
            failed = [row for row in found if row["prompt_index"] == GUILTY]
            self.assertTrue(all("SIGKILL in attempts 1 and 2" in row["reason"] for row in failed))
            poisoned.append(self.sha256())
            self.start_over()
        self.assertEqual(len(set(poisoned)), 1)


class Experiment(PoisonCase):
    """Two stages at once. Their ranks are those of other groups than the world."""
    rows_of = {"poisoned": 30, "whole": 20}
    guilty = 25  # a row that only one stage has

    def input_rows(self):
        return [{"prompt": words(i)} for i in range(ROWS)]

    def write(self, order):
        stages = self.folder / "stages"
        stages.mkdir(exist_ok=True)
        for name, rows in self.rows_of.items():
            (stages / f"{name}.yaml").write_text(
                "schema: 1\njob: generate\n"
                f"run: {{name: {name}, output: {self.output}, chunk_size: {self.chunk_rows}}}\n"
                f"model: {{path: {self.model}}}\ndata: {{path: {self.data}, max_samples: {rows}}}\n"
                "generate: {max_new_tokens: 4, batch_size: 3}\noutput: {max_failed: 1}\n")
        self.config = self.folder / "experiment.yaml"
        self.config.write_text("schema: 1\njob: experiment\nrun: {name: tiny}\n"
                               f"experiment: {{folder: stages, stages: [{', '.join(order)}]}}\n")

    def arguments(self, *more):
        return [self.config, f"run.output={self.output}", *more]

    def rows_in(self, stage):
        folder = self.output / "tiny" / "stages" / stage / "latest"
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]

    def test_a_row_that_kills_a_rank_of_a_stage_is_left_out_in_that_stage(self):
        plan = program.failpoint(f"sample.{self.guilty}:1:kill;" + slow_chunks(4))
        self.write(sorted(self.rows_of))
        self.run_job(0, 3)
        golden = {stage: self.rows_in(stage) for stage in self.rows_of}
        for order in (sorted(self.rows_of), sorted(self.rows_of, reverse=True)):
            self.start_over()
            self.write(order)
            self.run_job(0, 3, env=plan)
            self.assertEqual(self.rows_in("whole"), golden["whole"])
            found = self.rows_in("poisoned")
            self.assertIn("killed by SIGKILL in attempts 1 and 2", found[self.guilty]["reason"])
            for row, expected in zip(found, golden["poisoned"]):
                if row["prompt_index"] != self.guilty:
                    self.assertEqual(row, expected)


if __name__ == "__main__":
    program.main()
