"""Code that the tests of job generate share."""
import hashlib
import json
import shutil

import program
import tiny_lm

CONFIG = program.HERE / "generate.yaml"
GREEDY = ("generate.do_sample=false", "generate.temperature=auto", "generate.num_samples=1")


class GenerateCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.prompts = tiny_lm.write_rows(self.folder / "prompts.jsonl", tiny_lm.mixed_rows(30))

    def keys(self, *more):
        given = {key.split("=")[0] for key in more}
        keys = {"model.path": self.model, "data.path": self.prompts}
        return [f"{key}={value}" for key, value in keys.items() if key not in given] + list(more)

    def generate(self, code, ranks, *more, **options):
        return self.run_to(code, ranks, *self.keys(*more), config=CONFIG, **options)

    def start_generate(self, ranks, *more, **options):
        return self.start(ranks, *self.keys(*more), config=CONFIG, **options)

    def refuse(self, *refusals, ranks=2):
        """Runs all `refusals` (code, words, arguments) in parallel, since mpirun ends slowly."""
        jobs = [self.start_generate(ranks, *more) for _, _, *more in refusals]
        for (code, words, *_), job in zip(refusals, jobs, strict=True):
            ended = job.wait()
            self.assertEqual(ended.code, code, ended.out + ended.err)
            self.assertEqual(ended.err.count("error[E"), 1, ended.err)
            for word in words:
                self.assertIn(word, ended.err)

    def rows(self):
        """Returns the export of the newest run."""
        folder = self.run_folder()
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        lines = (folder / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def sha256(self):
        return hashlib.sha256((self.run_folder() / "results.h5").read_bytes()).hexdigest()

    def start_over(self):
        shutil.rmtree(self.output)
