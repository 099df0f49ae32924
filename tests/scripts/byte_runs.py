"""Runs a case with one of the two programs, in a separate folder."""
import re
import signal

from byte_cases import program

STOPPED, KILLED = 75, 137
EXPORTED = {"jsonl": "results.jsonl", "csv": "results.csv", "guide004": "teacher_logits.h5",
            "trl": "stepwise.jsonl", "pt": "prm_data", "pairs": "pairs.jsonl"}


class RunFailed(Exception):
    """A run that ended in another way than the case expects."""


class CaseRun(program.Workplace):
    """Runs one case with one program. `folder` exists until close_folder()."""

    def __init__(self, program_path, words):
        self.program = program_path
        self._words = words
        self.open_folder()

    def make(self, case, config, keys):
        """Makes the run folder with all that the case needs. Raises RunFailed."""
        self._config = self.folder / "case.yaml"
        self._config.write_text(self._words.config(config))
        keys = [self._words.of(key) for key in keys]
        if case.parts:
            self._make_parts(case, keys)
        else:
            if case.break_off:
                self._break_off(case, keys)
            if case.merges:
                self._run_to(0, 1, "--merge", self.run_folder(), config=None)
            else:
                self._run_to(0, case.ranks, *keys)
        self._export(case)
        self._require("results.h5")
        return self.run_folder()

    def make_alone(self, config, *arguments):
        """Makes a run on one rank that is not compared; returns its resolved folder."""
        self._config = self.folder / "alone.yaml"
        self._config.write_text(self._words.config(config))
        output = self.folder / f"alone{len(self._jobs)}"
        self._run_to(0, 1, *(self._words.of(word) for word in arguments), f"run.output={output}")
        return next(output.glob("*/latest")).resolve()

    def _make_parts(self, case, keys):
        folders = []
        for part in range(case.parts):
            self._run_to(0, case.ranks, *keys, f"--only={part}/{case.parts}")
            folders.append(self.run_folder())
        self._run_to(0, 2, "--merge", *folders, config=None)
        if self.num_runs() != case.parts + 1:
            raise RunFailed("--merge made no run folder of its own")

    def _break_off(self, case, keys):
        mark = self.folder / "mark"
        plan = self._words.failpoint(case.break_off)
        environment = program.failpoint(plan) | {"MGPU_FAILPOINT_MARK": str(mark)}
        if case.break_off.endswith(":kill"):
            self._run_to(KILLED, case.ranks, *keys, env=environment)
            return
        job = self.start(case.ranks, *keys, config=self._config, env=environment)
        if not job.wait_until(mark.exists):
            raise RunFailed(f"it did not come to {plan}")
        program.send(job.process.pid, signal.SIGUSR1)
        _expect(STOPPED, job.wait())

    def _export(self, case):
        for form in case.exports:
            if form == "pt":
                self._set_time()
            self._run_to(0, 1, "--export", self._words.of(form), self.run_folder(), config=None)
            self._require(EXPORTED[form])

    def _set_time(self):
        """Replaces the time of the run, which names the files of export pt, by a constant."""
        path = self.run_folder() / "run.json"
        path.write_text(re.sub(r'("created": ?")[^"]*"', r'\g<1>2026-01-02T03:04:05Z"', path.read_text()))

    def _require(self, name):
        if not (self.run_folder() / name).exists():
            raise RunFailed(f"the run left no {name}")

    def _run_to(self, code, ranks, *arguments, **options):
        options = {"config": self._config} | options
        _expect(code, self.run_program(ranks, *arguments, **options))


def _expect(code, ended):
    if ended.code != code:
        words = (ended.out[-600:] + ended.err[-1200:]).strip()
        raise RunFailed(f"exit code {ended.code} instead of {code}\n{words}")
