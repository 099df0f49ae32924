"""A run of job teacher on a small model, for the tests of that job."""
import hashlib
import shutil

import program
import tiny_lm

CONFIG = program.HERE / "teacher.yaml"
ROWS = 50
SCHEDULES = ("run.schedule=dynamic", "run.schedule=static")


def texts(count):
    words = "the cat sat on a mat and saw the dog run".split()
    return [{"text": " ".join(words[i % 7:i % 7 + 1 + i % 5] * (1 + i % 3))} for i in range(count)]


def slow_chunks(rank, count):
    """Returns a fault plan that delays each of the first chunks of a rank by a second."""
    return ";".join(f"chunk.work@{rank}:{n}:sleep" for n in range(1, count + 1))


def kill(rank, place, ranks):
    """Returns an environment that kills a rank at PLACE:N.

    The other ranks are slow, so that this one reaches the place."""
    plans = [f"{place.replace(':', f'@{rank}:')}:kill"]
    plans += [slow_chunks(other, 5) for other in range(ranks) if other != rank]
    return program.failpoint(";".join(plans))


def kill_in_group(rank, place):
    """Returns an environment that kills a rank at PLACE:N. One of the other group is slow."""
    other = 0 if rank > 1 else 2
    return program.failpoint(f"{place.replace(':', f'@{rank}:')}:kill;{slow_chunks(other, 5)}")


class TeacherCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.data = tiny_lm.write_rows(self.folder / "texts.jsonl", texts(ROWS))

    def teach(self, code, ranks, *more, **options):
        return self.run_to(code, ranks, *self.keys(*more), config=CONFIG, **options)

    def keys(self, *more):
        return [f"model.path={self.model}", f"data.path={self.data}", *more]

    def sha256(self, folder=None):
        results = (folder or self.run_folder()) / "results.h5"
        return hashlib.sha256(results.read_bytes()).hexdigest()

    def start_over(self):
        shutil.rmtree(self.output, ignore_errors=True)

    def golden_of(self, *keys, ranks=1):
        self.start_over()
        self.teach(0, ranks, "run.schedule=static", *keys)
        return self.sha256()
