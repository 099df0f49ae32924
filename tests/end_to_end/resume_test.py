"""A run that is stopped and continued gives the result of an unbroken run."""
import json
import os
import random
import re
import shlex
import signal
import time

import program

SEED = int(os.environ.get("MGPU_E2E_SEED", "1"))
# 3 streams of 73 tasks, 16 windows a step: an epoch is many steps, so each stop is inside one.
STEPS = ("train.max_steps=500", "train.eval_every=125", "checkpoint.every=0")


class Resume(program.ProgramTest):

    def stop_and_continue(self, golden, rank_counts, *arguments):
        """Stops at a random step on each count of ranks except the last, which finishes. Expects
        the golden hashes. On a busy machine a stop may come after the end of the run."""
        random_source = random.Random(f"{SEED} {rank_counts}")
        stops = 0
        for ranks in rank_counts:
            begun = self.count_events("train")
            job = self.start(ranks, *arguments)
            is_last = stops == len(rank_counts) - 1
            if not is_last and job.wait_until(lambda: self.count_events("train") > begun):
                time.sleep(random_source.uniform(0.0, 0.2))
                program.send(job.process.pid, signal.SIGUSR1)
            ended = job.wait()
            if ended.code == 0:
                break
            self.assertEqual(ended.code, 75, ended.out + ended.err)
            stops += 1
        self.assertEqual(ended.code, 0, ended.out + ended.err)
        self.assertGreater(stops, 0)
        steps = [int(step) for step in re.findall(r'"event":"save","step":(\d+)', self.events())]
        print(f"saved after the steps {steps}, ranks {rank_counts}", flush=True)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.hashes(), golden)

    def events(self):
        folder = self.run_folder()
        file = folder / "events.jsonl" if folder else None
        return file.read_text() if file and file.exists() else ""

    def count_events(self, word):
        return self.events().count(f'"event":"{word}"')

    def test_same_rank_count_without_layout(self):
        arguments = (*STEPS, "run.deterministic=false")
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                golden = self.golden(*arguments, ranks=ranks)
                self.stop_and_continue(golden, [ranks] * 3, *arguments)
                self.output.rename(self.folder / f"done{ranks}")

    def test_the_printed_command_starts_another_run(self):
        plan = "train.gradient:10:EIO;train.gradient:11:EIO"
        self.run_to(79, 2, "train.max_skipped_steps=0", env=program.failpoint(plan))
        stopped = self.run_folder()
        ended = self.run_to(0, 2, "train.max_skipped_steps=0", f"--resume={stopped}")
        golden = self.hashes()
        again = self.run_to(0, 2, "train.max_skipped_steps=0", f"--resume={stopped}")
        self.assertIn("this run is finished: there is nothing to resume", again.out)
        self.assertEqual(again.err.count("error["), 0, again.err)
        results = bytearray((stopped / "results.h5").read_bytes())
        for i in range(len(results) // 2, len(results)):
            results[i] ^= 0xff
        (stopped / "results.h5").write_bytes(results)
        self.assertIn("E604", self.run_to(80, 2, "train.max_skipped_steps=0",
                                          f"--resume={stopped}").err)
        command = re.search(r"(?m)^again: +(.*)$", ended.out)[1]
        (self.folder / "mgpu_spmd").symlink_to(program.PROGRAM)
        again = self.start_command(shlex.split(command),
                                   {"OMPI_MCA_rmaps_base_oversubscribe": "1"}).wait()
        self.assertEqual(again.code, 0, again.out + again.err)
        self.assertEqual(self.num_runs(), 2)
        self.assertEqual(self.hashes(), golden)
        for folder in (stopped, self.run_folder()):
            summary = json.loads((folder / "summary.json").read_text())
            self.assertEqual(summary["resume_command"], "")

    def test_a_stopped_run_names_the_command_that_resumes_it(self):
        ended = self.run_to(75, 2, "train.max_steps=3000", "--time-limit=1s")
        command = re.search(r"(?m)^mgpu_spmd: stopped, resume with (.*), exit 75$", ended.out)[1]
        self.assertEqual(shlex.split(command)[-1], f"--resume={self.run_folder()}")

    def test_changing_rank_count_with_layout(self):
        golden = self.golden(*STEPS)
        self.stop_and_continue(golden, [2, 1, 4], *STEPS)


if __name__ == "__main__":
    program.main()
