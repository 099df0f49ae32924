"""When one rank fails, all ranks end with one message and one exit code within two seconds."""
import os
import pathlib
import re
import signal
import time

import program

SOON_S = 2.0
MPIRUN_S = 5.0  # mpirun waits one second for the ranks that it ends, and then one second more
STEPS = ("train.max_steps=4000", "train.eval_every=0", "checkpoint.every=8")


class FailTogether(program.ProgramTest):

    def fail_on_one_rank(self, plan, code, ranks=4):
        """Expects that all ranks soon exit with `code`, and that only one rank prints a message."""
        mark = self.folder / "fault"
        job = self.start(ranks, *STEPS,
                         env=program.failpoint(plan) | {"MGPU_FAILPOINT_MARK": str(mark)})
        self.assertTrue(job.wait_until(mark.exists))
        fault = time.monotonic()
        while job.is_running():
            job.ranks()
            time.sleep(0.01)
        ended = job.wait()
        self.assertEqual(ended.code, code, ended.out + ended.err)
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        self.assertEqual(ended.err.count(f"exit {code}"), 1, ended.err)
        self.assertNotIn("MPI_ABORT", ended.err)
        crowding = max(1.0, os.getloadavg()[0] / os.cpu_count())  # other programs' ranks and builds
        self.assertLess(time.monotonic() - fault, SOON_S * crowding)

    def test_ledger_of_rank_1(self):
        self.fail_on_one_rank("ledger.write@1:1:ENOSPC", 74)

    def test_histories_of_the_last_rank(self):
        self.fail_on_one_rank("histories.write@3:1:EIO", 74)

    def test_checkpoint_of_rank_0(self):
        self.fail_on_one_rank("checkpoint.write@0:1:EDQUOT", 74)

    def assert_names_hung_rank(self, action, *arguments):
        """Expects that the watchdog reports the hanging rank, its process and where it hangs, and
        that all ranks end with 76."""
        mark = self.folder / "fault"
        before = self.pages()
        job = self.start(4, *STEPS, "watchdog.limit_s=2", *arguments,
                         env=program.failpoint(f"train.pass@1:20:{action}") |
                         {"MGPU_FAILPOINT_MARK": str(mark)})
        self.assertTrue(job.wait_until(mark.exists))
        ended = job.wait()
        self.assertEqual(ended.code, 76, ended.out + ended.err)
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        self.assertRegex(ended.err, r"error\[E405\]: rank 1 \(.*, pid \d+\) hangs: .*no progress")
        self.assertRegex(ended.err, r"(?m)^  rank 1: phase .*, train, step \d+, in no call")
        report = (self.run_folder() / "hang_report.txt").read_text()
        self.assertIn("--- process of rank 1", report)
        self.assertEqual(self.left_in_shared_memory(before), [])
        return ended

    def pages(self):
        """Returns the pages of watchdogs in shared memory."""
        return set(pathlib.Path("/dev/shm").glob("mgpu_watch.*"))

    def left_in_shared_memory(self, before):
        """Returns the new pages that persist; those of another run exist only for a moment."""
        new = self.pages() - before
        if new:
            time.sleep(3.0)
        return sorted(new & self.pages())

    def test_stopped_rank_is_named(self):
        ended = self.assert_names_hung_rank("stop")
        self.assertIn("its process: stopped (state T)", ended.err)

    def test_rank_in_an_endless_loop_is_named(self):
        self.assert_names_hung_rank("spin", "run.deterministic=false")

    def test_the_same_command_resumes_after_a_hang(self):
        steps = ("train.max_steps=30", "train.eval_every=0", "checkpoint.every=8")
        self.run_to(76, 2, *steps, "watchdog.limit_s=2",
                    env=program.failpoint("train.pass@1:20:spin"))
        resumed = self.run_to(0, 2, *steps, "watchdog.limit_s=2")
        self.assertIn("attempt 2 continues this run", resumed.out + resumed.err)
        self.assertEqual(self.num_runs(), 1)

    def assert_names_who_did_not_come(self, *arguments):
        """Expects that without the watchdog the waiting ranks name the rank that did not come."""
        ended = self.run_to(76, 4, *STEPS, "comm.timeout_s=3", "watchdog.enabled=false", *arguments,
                            env=program.failpoint("train.pass@1:20:stop"))
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        self.assertIn("error[E402]", ended.err)
        self.assertEqual(re.findall(r"(?m)^  rank (\d+) \(.*\) did not come$", ended.err), ["1"])

    def test_rank_that_does_not_come_is_named(self):
        self.assert_names_who_did_not_come()

    def test_rank_that_does_not_come_is_named_with_the_ring(self):
        self.assert_names_who_did_not_come("run.deterministic=false")

    def test_killed_rank_takes_the_others_along(self):
        job = self.start(4, *STEPS)
        self.assertTrue(job.wait_until(self.reached('"train"')))
        begin = time.monotonic()
        program.send(job.ranks()[2], signal.SIGKILL)
        ended = job.wait()
        self.assertEqual(ended.code, 137)
        self.assertEqual(ended.err.count("error[E401]: rank 2 "), 1, ended.err)
        self.assertRegex(ended.err, r"it was last in phase .*, train, step \d+")
        self.assertIn("the same command resumes the run", ended.err)
        self.assertLess(time.monotonic() - begin, MPIRUN_S)


if __name__ == "__main__":
    program.main()
