"""Code that the tests of job collect share."""
import hashlib
import json
import shutil

import program
import tiny_lm

CONFIG = program.HERE / "collect.yaml"
WORDS = "the cat sat on a mat and saw the dog run".split()


def questions(count):
    """Returns `count` prompts with an answer of one digit."""
    return [{"prompt": " ".join(WORDS[i % 7:i % 7 + 1 + i % 4]), "answer": i % 10, "id": f"q{i}"}
            for i in range(count)]


class CollectCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.questions = tiny_lm.write_rows(self.folder / "questions.jsonl", questions(12))

    def start_collect(self, ranks, *more, **options):
        keys = (f"model.path={self.model}", f"data.path={self.questions}")
        return self.start(ranks, *keys, *more, config=CONFIG, **options)

    def collect(self, code, ranks, *more, **options):
        keys = (f"model.path={self.model}", f"data.path={self.questions}")
        return self.run_to(code, ranks, *keys, *more, config=CONFIG, **options)

    def export(self, kind, name, run="tiny"):
        folder = self.run_folder(run)
        self.run_to(0, 1, "--export", kind, str(folder), config=None)
        return [json.loads(line) for line in (folder / name).read_text().splitlines()]

    def sha256(self):
        return hashlib.sha256((self.run_folder() / "results.h5").read_bytes()).hexdigest()

    def start_over(self):
        shutil.rmtree(self.output)

    def expect(self, golden, ranks, *keys, **options):
        """Collects again, and compares the results with the SHA-256 of another run."""
        self.start_over()
        self.collect(0, ranks, *keys, **options)
        self.assertEqual(self.sha256(), golden, keys)
