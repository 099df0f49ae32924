"""Job train on a disk without room, and with a limit of the size of files: exit code 74."""
import shutil
import subprocess

import program


class FullDisk(program.ProgramTest):

    def test_74_small_disk_then_space(self):
        golden = self.golden()
        disk = self.output
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=65m", "tmpfs", disk],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        job = self.start(4, env=program.failpoint("histories.create:1:sleep"))
        self.assertTrue(job.wait_until(lambda: self.run_folder() is not None))
        stuffing = disk / "stuffing"
        with stuffing.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"0" * 65536)
            except OSError:
                pass
        ended = job.wait()
        self.assertEqual(ended.code, 74, ended.out + ended.err)
        self.assertEqual(ended.err.count("error[E602]"), 1, ended.err)
        self.assertFalse((self.run_folder() / "results.h5").exists())
        stuffing.unlink()
        self.run_to(0, 2)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.hashes(), golden)

    def fail_at(self, *places, results=False):
        golden = self.golden()
        for place in places:
            with self.subTest(place=place):
                shutil.rmtree(self.output, ignore_errors=True)
                ended = self.run_to(74, 2, env=program.failpoint(f"{place}:1:ENOSPC"))
                self.assertEqual(ended.err.count("error[E"), 1, ended.err)
                self.assertEqual((self.run_folder() / "results.h5").exists(), results)
                self.run_to(0, 2)
                self.assertEqual(self.num_runs(), 1)
                self.assertEqual(self.hashes(), golden)

    def test_74_a_file_that_may_not_grow(self):
        golden = self.golden()
        limited = ("sh", "-c", 'ulimit -f 64; exec "$@"', "sh")
        ended = self.run_program(2, through=limited)
        self.assertEqual(ended.code, 74, ended.out + ended.err)
        self.assertEqual(ended.err.count("error[E602]"), 1, ended.err)
        self.assertIn("File too large", ended.err)
        self.run_to(0, 2)
        self.assertEqual(self.hashes(), golden)

    def test_74_no_space_for_the_ledger(self):
        self.fail_at("ledger.create", "ledger.write", "ledger.sync")

    def test_74_no_space_for_histories(self):
        self.fail_at("histories.create", "histories.reserve", "histories.write", "histories.rename")

    def test_74_no_space_for_a_checkpoint(self):
        self.fail_at("checkpoint.mkdir", "checkpoint.write", "checkpoint.sync", "checkpoint.link")

    def test_74_no_space_for_what_is_said(self):
        self.fail_at("events.write", "run log.write", "tensorboard.write", "rank log.write@1")

    def test_74_no_space_for_how_the_run_went(self):
        self.fail_at("timings.create", "timings.rename", results=True)

    def test_74_no_space_for_results(self):
        self.fail_at("results.create", "results.reserve", "results.write", "results.rename")


if __name__ == "__main__":
    program.main()
