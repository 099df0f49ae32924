"""Starts the program under test as a user does, in a separate folder for each test.

The environment says where things are: MGPU_PROGRAM (the built mgpu_spmd) and MGPU_MPIEXEC.
All files of a job are in the test's folder, including shared memory and mpirun's session, so that
killed processes leave no other files.
"""
import dataclasses
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
PROGRAM = os.environ.get("MGPU_PROGRAM", str(TOP / "mgpu_spmd"))
MPIEXEC = os.environ.get("MGPU_MPIEXEC", "mpirun")
SMALL_LM = HERE / "small_lm"  # a model without weights, an eighth of conf/examples/tiny_lm
TINY = HERE / "tiny.yaml"
# Of one start. An idle machine needs 2 s, and some starts of tier long need a minute.
DEADLINE_S = float(os.environ.get("MGPU_E2E_DEADLINE", "90"))
# mpirun sends SIGTERM to the remaining ranks one second after the first rank has ended, and SIGKILL
# another second later. With this setting they have no time for last messages, which is a harder
# crash.
AT_ONCE = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
GOLDEN_FILES = ("histories.h5", "results.h5", "ckpt/last/model.safetensors")


@dataclasses.dataclass(frozen=True)
class Ended:
    """A finished job."""
    code: int  # as a shell gives it: 128 + signal for a killed mpirun
    out: str
    err: str
    seconds: float


class Job:
    """mpirun and its ranks."""

    def __init__(self, command, folder, environment):
        self._log = tempfile.mkdtemp(prefix="log.", dir=folder)
        self._out = open(os.path.join(self._log, "out"), "w+b")
        self._err = open(os.path.join(self._log, "err"), "w+b")
        self._begin = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
            env=environment, cwd=folder, start_new_session=True)
        self._ranks = set()

    def ranks(self):
        """Returns the process ids of the ranks that live now."""
        alive = [pid for pid in _descendants(self.process.pid) if _name(pid) == "mgpu_spmd"]
        self._ranks.update(alive)
        return alive

    def is_running(self):
        return self.process.poll() is None

    def wait_until(self, is_reached, deadline_s=DEADLINE_S):
        """Returns whether is_reached() came true while the job was running, before the deadline."""
        end = time.monotonic() + deadline_s
        while self.is_running() and time.monotonic() < end:
            self.ranks()
            if is_reached():
                return True
            time.sleep(0.01)
        return False

    def wait(self, deadline_s=DEADLINE_S):
        """Waits for the end of mpirun and of every rank, and returns the job as Ended.

        `deadline_s` counts from the start. Then it kills the remaining processes, and raises."""
        try:
            code = self.process.wait(max(0.0, self._begin + deadline_s - time.monotonic()))
            self._wait_for_ranks(10.0)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"not ended after {deadline_s:.0f} s\n{self._text()}") from None
        seconds = time.monotonic() - self._begin
        out, err = self._read(self._out), self._read(self._err)
        self._out.close()
        self._err.close()
        return Ended(code if code >= 0 else 128 - code, out, err, seconds)

    def _wait_for_ranks(self, deadline_s):
        """Waits for the ranks, which outlive a killed mpirun until they notice."""
        end = time.monotonic() + deadline_s
        while any(_name(pid) == "mgpu_spmd" for pid in self._ranks):
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("ranks", deadline_s)
            time.sleep(0.01)

    def out(self):
        """Returns the text on stdout so far."""
        return self._read(self._out)

    def err(self):
        """Returns the text on stderr so far."""
        return self._read(self._err)

    def kill(self):
        for pid in [*self.ranks(), *self._ranks, self.process.pid]:
            if pid == self.process.pid or _name(pid) == "mgpu_spmd":
                send(pid, signal.SIGKILL)
        self.process.wait()

    def _text(self):
        return self._read(self._out)[-2000:] + self._read(self._err)[-2000:]

    @staticmethod
    def _read(file):
        file.flush()
        return pathlib.Path(file.name).read_text(errors="replace")


class Workplace:
    """A temporary folder in which a program is started."""
    program = PROGRAM

    def open_folder(self):
        """Makes the folder in $TMPDIR; if that is not set, in memory where the machine has it."""
        place = os.environ.get("TMPDIR") or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mgpu_e2e.", dir=place))
        self._jobs = []

    def close_folder(self):
        """Kills what still runs, and removes the folder."""
        for job in self._jobs:
            if job.is_running():
                job.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, ranks, *arguments, config=TINY, env=None, through=()):
        """Starts mpirun -np RANKS [THROUGH...] mgpu_spmd CONFIG ARGUMENTS; returns its Job."""
        command = [*self.mpirun(ranks), *through, self.program]
        command += [str(config)] if config else []
        if not any(str(a).startswith("run.output=") for a in arguments) and config:
            command.append(f"run.output={self.output}")
        return self.start_command([*command, *arguments], env)

    def start_command(self, command, env=None):
        job = Job([str(word) for word in command], self.folder, self.environment(env))
        self._jobs.append(job)
        return job

    def run_program(self, ranks, *arguments, env=None, **options):
        """Starts the program and waits for its end."""
        if ranks == 1:  # no other rank has last messages to wait for
            env = AT_ONCE | (env or {})
        return self.start(ranks, *arguments, env=env, **options).wait()

    def mpirun(self, ranks):
        return [MPIEXEC, "--oversubscribe", "--bind-to", "none",
                "--mca", "mpi_yield_when_idle", "1",
                "--mca", "btl_vader_backing_directory", str(self.folder),
                "-np", str(ranks)]

    def environment(self, more=None):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("MGPU_FAILPOINT", "MGPU_TESTING", "SLURM_"))}
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                        "TMPDIR": str(self.folder)}
        if "CUDAEMU_COUNT" not in (more or {}):  # the emulator prints counts in a normal exit
            environment["MGPU_QUICK_EXIT"] = "1"
        return environment | (more or {})

    @property
    def output(self):
        return self.folder / "outputs"

    def run_folder(self, name="tiny"):
        """Returns the newest run directory, or None."""
        folders = sorted(p for p in (self.output / name).glob("2*") if p.is_dir())
        return folders[-1] if folders else None

    def num_runs(self, name="tiny"):
        return len([p for p in (self.output / name).glob("2*") if p.is_dir()])

    def reached(self, pattern):
        """Returns a condition for Job.wait_until: the run's events match `pattern`."""
        def is_reached():
            folder = self.run_folder()
            events = folder / "events.jsonl" if folder else None
            return bool(events and events.exists() and
                        re.search(pattern, events.read_text(errors="replace")))
        return is_reached


class ProgramTest(Workplace, unittest.TestCase):
    """A test with a temporary folder, which is removed afterwards."""

    def setUp(self):
        self.open_folder()
        self.addCleanup(self.close_folder)

    def run_to(self, code, ranks, *arguments, **options):
        """Runs, and fails the test unless the exit code is `code`. When a rank is killed, mpirun
        kills the others immediately."""
        if code == 128 + signal.SIGKILL:
            options["env"] = AT_ONCE | options.get("env", {})
        ended = self.run_program(ranks, *arguments, **options)
        if code == 128 + signal.SIGKILL and ranks > 1 and ended.code == 76:
            # Another rank noticed the death before mpirun did.
            self.assertRegex(ended.err, r"error\[E401\]: rank \d+ .* died")
            return ended
        self.assertEqual(ended.code, code, ended.out[-2000:] + ended.err[-2000:])
        return ended

    def hashes(self):
        return hashes_of(self.run_folder())

    def golden(self, *arguments, ranks=1, name="tiny"):
        """Makes an uninterrupted run with these arguments and returns its hashes."""
        elsewhere = self.folder / "golden"
        self.run_to(0, ranks, *arguments, f"run.output={elsewhere}")
        return hashes_of(elsewhere / name / "latest")


def failpoint(plan):
    """Returns the environment that injects a fault at a durable place."""
    return {"MGPU_TESTING": "1", "MGPU_FAILPOINT": plan}


def hashes_of(run_folder, names=GOLDEN_FILES):
    """Returns the SHA-256 of each file that must not depend on interruptions."""
    return {name: hashlib.sha256((run_folder / name).read_bytes()).hexdigest() for name in names}


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _children(pid):
    try:
        return [int(p) for t in os.listdir(f"/proc/{pid}/task")
                for p in pathlib.Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
    except OSError:
        return []


def _descendants(pid):
    return [p for child in _children(pid) for p in (child, *_descendants(child))]


def _name(pid):
    """Returns the name of a process that runs; "" for one that is gone or a zombie."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    name, state = re.match(r"\d+ \((.*)\) (\S)", text).groups()
    return "" if state in "ZX" else name


def main():
    """Runs the tests of the calling script and exits; with 77 if all of them were skipped."""
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if result.wasSuccessful() and result.testsRun == len(result.skipped):
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
