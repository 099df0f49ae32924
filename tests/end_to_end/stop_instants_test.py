"""A stop signal at any instant of a job: it ends with 75, or with 0 once its results are published."""
import os
import pathlib
import signal
import tempfile
import time

import program

STEPS = ("train.max_steps=400", "train.eval_every=0", "checkpoint.every=0")
LAUNCH = pathlib.Path(os.environ.get("MGPU_LAUNCH", program.TOP / "launch"))
MANY = int(os.environ.get("MGPU_STOP_INSTANTS", "0"))  # tier long has 40


class StopInstants(program.ProgramTest):
    """launch/mgpu-run holds a signal back until a rank hears it."""

    def start_supervised(self):
        """Starts the job. A finished run of an earlier job moves away, because published() would see it."""
        if self.published():
            self.output.rename(pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "done")
        return self.start_command(
            [LAUNCH / "mgpu-run", "-np", "2", "--mca",
             "btl_vader_backing_directory", self.folder, program.PROGRAM, program.TINY,
             f"run.output={self.output}", *STEPS])

    def published(self):
        folder = self.run_folder()
        return folder is not None and (folder / "results.h5").exists()

    def expect_saved_or_done(self, job, number, when):
        program.send(job.process.pid, number)
        ended = job.wait()
        text = f"{signal.Signals(number).name} at {when}: " + ended.out[-800:] + ended.err[-800:]
        self.assertIn(ended.code, (0, 75), text)
        self.assertEqual(ended.code == 0, self.published(), text)

    def stop_at(self, seconds, number):
        job = self.start_supervised()
        time.sleep(seconds)
        self.expect_saved_or_done(job, number, f"{seconds:.2f} s")

    def test_while_the_program_starts(self):
        golden = self.golden(*STEPS)
        for i, seconds in enumerate((0.2, 0.3, 0.45, 0.6, 0.9)):
            self.stop_at(seconds, (signal.SIGUSR1, signal.SIGTERM)[i % 2])
        self.run_to(0, 2, *STEPS)
        self.assertEqual(self.hashes(), golden)

    def test_while_the_program_works_and_ends(self):
        golden = self.golden(*STEPS)
        self.stop_at(1.5, signal.SIGTERM)
        job = self.start_supervised()
        self.assertTrue(job.wait_until(self.published))
        self.expect_saved_or_done(job, signal.SIGUSR1, "publication")
        self.assertEqual(self.hashes(), golden)

    def test_of_a_rank_that_has_published(self):
        job = self.start(2, *STEPS)
        self.assertTrue(job.wait_until(lambda: "done, exit 0" in job.out()))
        while job.is_running():  # also while MPI and libraries end
            for number in (signal.SIGUSR1, signal.SIGINT, signal.SIGTERM):
                for rank in job.ranks():
                    program.send(rank, number)
            time.sleep(0.002)
        ended = job.wait()
        self.assertEqual(ended.code, 0, ended.out + ended.err)

    def test_at_many_instants(self):
        for i in range(MANY):
            seconds = 0.2 + 2.5 * i / MANY
            self.stop_at(seconds, (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)[i % 3])


if __name__ == "__main__":
    program.main()
