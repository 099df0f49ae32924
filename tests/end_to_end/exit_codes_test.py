"""Every exit code of job train, which mpirun must pass on unchanged."""
import pathlib
import re
import shutil
import signal
import time
import unittest

import program

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None

LONG = ("train.max_steps=4000", "train.eval_every=0", "checkpoint.every=0")
SAVING = ("train.max_steps=4000", "train.eval_every=0", "checkpoint.every=8")


def poison(arrivals):
    """Returns a fault plan that turns these gradients, counted with repetitions, into NaN."""
    return ";".join(f"train.gradient:{arrival}:EIO" for arrival in arrivals)


class OneMessage(program.ProgramTest):

    def assert_once(self, ended):
        """Expects one message of a single rank, and no banner of MPI."""
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        self.assertNotIn("MPI_ABORT", ended.err)


class StartErrors(OneMessage):
    """The program fails before it starts a run."""

    def assert_says(self, ended, code, sentence):
        self.assertIn(f"error[{code}]", ended.err)
        self.assert_once(ended)
        self.assertIn(sentence, ended.err)
        self.assertFalse(self.output.exists(), "something was started")

    def test_0_answers_without_a_run_come_from_one_rank(self):
        for option, text in (("--help", "CONF.yaml"), ("--version", "mgpu_spmd "),
                             ("--explain=train.max_steps", "train.max_steps")):
            alone = self.run_to(0, 1, option, config=None).out
            self.assertIn(text, alone)
            self.assertEqual(self.run_to(0, 2, option, config=None).out, alone)

    def test_64_unknown_option(self):
        self.assert_says(self.run_to(64, 2, "--plam"), "E142", "did you mean --plan?")

    def test_64_no_configuration(self):
        self.assert_says(self.run_to(64, 2, config=None), "E141", "no configuration is given")

    def test_66_configuration_is_missing(self):
        ended = self.run_to(66, 2, config=self.folder / "absent.yaml")
        self.assert_says(ended, "E603", "absent.yaml")

    def test_66_name_of_the_configuration_is_misspelt(self):
        (self.folder / "present.yaml").write_text("schema: 1\n")
        ended = self.run_to(66, 2, config=self.folder / "presnt.yaml")
        self.assert_says(ended, "E603", f"did you mean {self.folder}/present.yaml?")

    def test_66_configurations_are_listed(self):
        (self.folder / "conf").mkdir()
        for name in ("one", "two"):
            (self.folder / "conf" / f"{name}.yaml").write_text("schema: 1\n")
        ended = self.run_to(66, 2, config="absent.yaml")
        self.assert_says(ended, "E603", "there are conf/one.yaml, conf/two.yaml")

    def test_66_folder_of_the_configuration_is_misspelt(self):
        (self.folder / "conf" / "train").mkdir(parents=True)
        (self.folder / "conf" / "train" / "one.yaml").write_text("schema: 1\n")
        ended = self.run_to(66, 2, config="conf/trian/one.yaml")
        self.assert_says(ended, "E603", "did you mean conf/train/one.yaml?")

    def test_66_histories_are_missing(self):
        ended = self.run_to(66, 2, f"data.path={self.folder}/absent.h5")
        self.assertIn("absent.h5", ended.err)
        self.assertFalse(self.output.exists())  # found before there was anything to clean up
        self.assert_once(ended)

    def test_78_path_of_histories_is_empty(self):
        ended = self.run_to(78, 2, "data.path=")
        self.assert_says(ended, "E107", "without the key it is `null`")

    def test_69_nccl_without_gpu(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("there is a GPU")
        ended = self.run_to(69, 2, "devices.backend=nccl")
        self.assertIn("error[E2", ended.err)
        self.assert_once(ended)

    def test_69_gpus_that_are_not_there(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("there is a GPU")
        self.assert_says(self.run_to(69, 2, "--gpus=0"), "E203", "no GPU is visible")

    def test_78_ranks_cannot_be_split(self):
        self.assertEqual(self.run_to(78, 2, "--gpus-per-model=3").err.count("error[E"), 1)

    def test_69_only_the_first_of_many_slurm_tasks_speaks(self):
        def task(number):
            slurm = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": number}
            return self.start_command([program.PROGRAM, program.TINY], slurm)

        later = task("1")
        time.sleep(3.0)  # a launcher that starts the first task late must find it alive
        self.assert_says(task("0").wait(), "E211", "this is one of 2 Slurm tasks")
        self.assertTrue(later.is_running())
        self.assertEqual(later.err(), "")

    def test_73_output_cannot_be_created(self):
        (self.folder / "file").write_text("in the way")
        ended = self.run_to(73, 2, f"run.output={self.folder}/file/outputs")
        self.assert_says(ended, "E601", "cannot create the run directory")

    def test_73_output_is_where_nothing_can_be(self):
        ended = self.run_to(73, 2, "run.output=/proc/outputs")
        self.assert_says(ended, "E601", "cannot create the run directory")

    def test_78_unknown_key(self):
        self.assert_says(self.run_to(78, 2, "train.max_step=3"), "E101", "train.max_steps")

    def test_78_all_errors_of_a_file_at_once(self):
        config = self.folder / "wrong.yaml"
        config.write_text("schema: 1\njob: train\ntrain: {max_steps: many, lanez: 8}\n")
        ended = self.run_to(78, 2, config=config)
        self.assertEqual(ended.err.count("error[E"), 2, ended.err)


class RunErrors(OneMessage):

    def test_65_histories_of_another_environment(self):
        self.run_to(0, 1)
        table = self.run_folder() / "histories.h5"
        ended = self.run_to(65, 2, f"data.path={table}", "data.env_split_seed=7")
        self.assertIn("error[E521]", ended.err)
        self.assert_once(ended)

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_65_histories_with_columns_of_other_widths(self):
        self.run_to(0, 1)
        source = self.run_folder() / "histories.h5"
        for column, width in (("reward", 1000000), ("landing", 10)):
            path = self.folder / f"{column}.h5"
            shutil.copy(source, path)
            with h5py.File(path, "r+") as file:
                rows = file["histories/action"].shape[0]
                del file[f"histories/{column}"]
                file[f"histories/{column}"] = np.zeros((rows, width), np.uint8)
            ended = self.run_to(65, 2, f"data.path={path}")
            self.assertIn(f"column `{column}` has {width} values per row", ended.err)

    def test_65_a_file_of_another_kind(self):
        ended = self.run_to(65, 2, f"data.path={__file__}")
        self.assertIn("this is no HDF5 file", ended.err)
        self.assertFalse((self.folder / "outputs").exists())  # no run directory was begun
        self.assert_once(ended)

    def test_70_a_bug_of_ours(self):
        ended = self.run_to(70, 2, env={"MGPU_TESTING": "1", "MGPU_FAILPOINT": "no plan"})
        self.assertIn("internal error, please report", ended.err)

    def test_71_out_of_memory(self):
        limited = ("sh", "-c", 'ulimit -v 12000000; exec "$@"', "sh")
        self.run_to(0, 2, through=limited)
        # 65,536 runs at once need 13 GiB of keys and as much of values.
        cache = ["model.tf_n_embd=128", "model.n_transit=400", "evaluate.runs=8192",
                 "run.chunk_size=65536"]
        ended = self.run_to(71, 2, *cache, through=limited)
        self.assertIn("error[E301]", ended.err)

    def test_71_out_of_memory_in_a_training_pass(self):
        ended = self.run_to(71, 2, env={"MGPU_TESTING": "1",
                                        "MGPU_FAILPOINT": "train.pass@1:3:ENOMEM"})
        for words in ("error[E301]", "on rank 1 in a training pass of at most ",
                      "optimizer ", "stay in memory"):
            self.assertIn(words, ended.err)
        smaller = re.search(r"= help: (train.micro_batch_size=\d+)", ended.err)
        self.run_to(0, 2, smaller.group(1))

    def test_73_resume_with_another_configuration(self):
        self.run_to(0, 1)
        ended = self.run_to(73, 2, f"run.resume={self.run_folder()}", "train.learning_rate=1e-3")
        self.assertIn("error[E608]", ended.err)
        self.assertIn("train.learning_rate: 0.002", ended.err)

    def test_73_the_file_of_histories_was_replaced(self):
        table = self.folder / "h.h5"

        def play(seed):
            self.run_to(0, 1, "train.max_steps=1", f"run.seed={seed}",
                        f"run.output={self.folder / str(seed)}")
            made = self.folder / str(seed) / "tiny" / "latest" / "histories.h5"
            table.write_bytes(made.read_bytes())

        play(1)
        arguments = (f"data.path={table}", "train.max_skipped_steps=0")
        plan = program.failpoint("train.gradient:10:EIO;train.gradient:11:EIO")
        self.run_to(79, 1, *arguments, env=plan)  # after the checkpoint of step 8
        play(2)
        ended = self.run_to(73, 2, *arguments)
        self.assertEqual(ended.err.count("error[E608]"), 1)
        self.assertIn("`data.path` holds other histories", ended.err)
        self.assertIn(str(table), ended.err)
        play(1)
        self.run_to(0, 2, *arguments)
        self.assertEqual(self.num_runs(), 1)

    def test_79_gradient_is_twice_not_a_number(self):
        plan = program.failpoint("train.gradient:3:EIO;train.gradient:4:EIO")
        self.run_to(79, 2, "train.max_skipped_steps=0", env=plan)
        # The last good step is saved: without the fault the same command continues.
        golden = self.golden()
        self.run_to(0, 2)
        self.assertEqual(self.hashes(), golden)

    def test_79_too_many_batches_have_no_gradient(self):
        plan = program.failpoint(poison(range(3, 11)))  # two attempts at each of 4 steps
        ended = self.run_to(79, 2, env=plan)
        self.assertEqual(ended.out.count("this batch is skipped"), 3)

    def test_0_a_batch_without_a_gradient_is_skipped(self):
        ended = self.run_to(0, 2, env=program.failpoint(poison([3, 4])))
        self.assertIn("step 3: the gradient was infinite or NaN, also when", ended.out)

    def test_0_a_gradient_that_is_finite_when_repeated_is_used(self):
        golden = self.golden()
        ended = self.run_to(0, 2, env=program.failpoint(poison([3])))
        self.assertIn("but not when computed again", ended.out)
        self.assertEqual(self.hashes(), golden)

    def test_0_a_gradient_that_is_not_finite_on_one_rank_is_repeated_on_all(self):
        golden = self.golden()
        ended = self.run_to(0, 2, env=program.failpoint("train.gradient@1:3:EIO"))
        self.assertIn("but not when computed again", ended.out)
        self.assertEqual(self.hashes(), golden)

    def test_80_gradients_differ_from_their_repetition_twice(self):
        ended = self.run_to(80, 2, env=program.failpoint(poison([3, 6])))
        self.assertIn("error[E707]", ended.err)

    def test_80_all_checkpoints_are_damaged(self):
        job = self.start(2, *SAVING)
        self.assertTrue(job.wait_until(self.reached('"save"')))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        for weights in self.run_folder().glob("ckpt/step_*/model.safetensors"):
            damaged = bytearray(weights.read_bytes())
            damaged[-1] ^= 0x40
            weights.write_bytes(damaged)
        ended = self.run_to(80, 2, *SAVING)
        self.assertIn("error[E6", ended.err)

    def test_75_a_damaged_checkpoint_is_described(self):
        job = self.start(2, *SAVING)
        self.assertTrue(job.wait_until(self.reached('"save"')))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        weights = self.run_folder() / "ckpt" / "last" / "model.safetensors"
        damaged = bytearray(weights.read_bytes())
        damaged[-1] ^= 0x40
        weights.write_bytes(damaged)
        out = self.run_to(75, 2, *SAVING, "--time-limit=2s").out
        for line in (r"checkpoint step_\d+ is damaged and was skipped \(W611\)",
                     r"tensor `\S+`: CRC-32C expected 0x[0-9a-f]{8}, found 0x[0-9a-f]{8}",
                     r"kept as \S+\.bad"):
            self.assertRegex(out, rf"(?m) warn +{line}$")

    def test_81_two_runs_in_one_directory(self):
        endless = ("train.max_steps=400000", *LONG[1:])
        first = self.start(2, *endless)
        self.assertTrue(first.wait_until(self.reached('"train"')))
        ended = self.run_to(81, 2, *endless)
        self.assertIn("error[E607]", ended.err)
        self.assertTrue(first.is_running())
        program.send(first.process.pid, signal.SIGUSR1)
        self.assertEqual(first.wait().code, 75)

    def test_137_killed_rank(self):
        job = self.start(2, *LONG)
        self.assertTrue(job.wait_until(self.reached('"train"')))
        program.send(job.ranks()[1], signal.SIGKILL)
        self.assertEqual(job.wait().code, 128 + signal.SIGKILL)

    def test_134_aborted_rank(self):
        plan = program.failpoint("checkpoint.write@1:1:abort;checkpoint.write@0:1:abort")
        self.run_to(128 + signal.SIGABRT, 2, env=plan)


class Stops(program.ProgramTest):
    """A stop with 75 saves; the same command continues and gives the result of an unbroken run."""
    STEPS = ("train.max_steps=120", "train.eval_every=40", "checkpoint.every=0")
    # 20 steps of 4 passes take a second each. The clock and the file are checked once in a second,
    # so no stop comes after the end.
    SLOW = program.failpoint(";".join(f"train.pass:{n}:sleep" for n in range(20, 100, 4)))

    def stop_by(self, stop, *arguments):
        golden = self.golden(*self.STEPS)
        job = self.start(2, *self.STEPS, *arguments, env=self.SLOW)
        if stop:
            self.assertTrue(job.wait_until(self.reached('"train"')))
            stop(job)
        ended = job.wait()
        self.assertEqual(ended.code, 75, ended.out + ended.err)
        self.assertFalse((self.run_folder() / "results.h5").exists())
        self.run_to(0, 4, *self.STEPS)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.hashes(), golden)

    def test_75_usr1(self):
        self.stop_by(lambda job: program.send(job.process.pid, signal.SIGUSR1))

    def test_75_term_to_the_ranks(self):
        self.stop_by(lambda job: [program.send(pid, signal.SIGTERM) for pid in job.ranks()])

    def test_75_term_to_one_rank(self):
        self.stop_by(lambda job: program.send(job.ranks()[-1], signal.SIGTERM))

    def test_75_stop_file(self):
        self.stop_by(lambda job: (self.run_folder() / "STOP").touch())
        self.assertFalse((self.run_folder() / "STOP").exists())

    def test_75_time_limit(self):
        self.stop_by(None, "--time-limit=2s")


class LostRank(program.ProgramTest):
    """Tests launch/mgpu-run, which restarts the world or ends with 76."""

    def start_supervised(self, *flags, arguments=()):
        """Starts mgpu-run instead of mpirun; the ranks are children of mpirun."""
        command = [program.TOP / "launch" / "mgpu-run", "-np", "2", *flags,
                   "--mca", "btl_vader_backing_directory", self.folder, program.PROGRAM,
                   program.TINY, f"run.output={self.output}", *LONG, *arguments]
        return self.start_command(command)

    def test_76_without_restart(self):
        job = self.start_supervised("--no-restart")
        self.assertTrue(job.wait_until(self.reached('"train"')))
        program.send(job.ranks()[1], signal.SIGKILL)
        ended = job.wait()
        self.assertEqual(ended.code, 76, ended.out + ended.err)
        self.assertRegex(ended.err, r"rank 1 on \S+ was killed by signal 9")

    def test_75_after_a_restart(self):
        # A restart continues the run that ended, whatever the caller asked for at the start.
        job = self.start_supervised(arguments=["run.resume=never"])
        self.assertTrue(job.wait_until(self.reached('"train"')))
        program.send(job.ranks()[0], signal.SIGKILL)
        self.assertTrue(job.wait_until(self.reached("attempt 2")))
        program.send(job.process.pid, signal.SIGUSR1)
        ended = job.wait()
        self.assertEqual(ended.code, 75, ended.out + ended.err)
        self.assertEqual(self.num_runs(), 1)


if __name__ == "__main__":
    program.main()
