"""Compares blocks of the pages that show output, and the records of deaths, with the program."""
import json
import re
import signal
import sys

import program
import tiny_lm

sys.path.insert(0, str(program.TOP / "tests/docs"))
import pages

STAMP = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")


class PageBlocks(program.ProgramTest):
    maxDiff = None

    def keys(self, rows, *more):
        """Returns the arguments of a run of job teacher on many rows."""
        model = self.folder / "model"
        if not model.exists():
            tiny_lm.make_folder(model)
        data = tiny_lm.write_rows(self.folder / "rows.jsonl",
                                  [{"text": f"the cat {i}"} for i in range(rows)])
        return (f"model.path={model}", f"data.path={data}", "teacher.top_k=2", *more)

    def teach(self, code, ranks, rows, *more, **options):
        return self.run_to(code, ranks, *self.keys(rows, *more),
                           config=program.HERE / "teacher.yaml", **options)

    def test_error_of_a_key(self):
        block = pages.block_with("docs/train.md", "error[E102]")
        ended = self.run_program(1, "traim.max_steps=5",
                                 config=program.TOP / "conf/train/train_ad.yaml")
        self.assertEqual(ended.code, 78)
        # The test also gives run.output.
        self.assertIn(block, ended.err.replace("argument 3", "argument 2"))

    def test_parts_and_their_merge(self):
        block = pages.block_with("docs/generate.md", "error[E610]")
        one, other, merged = dict.fromkeys(STAMP.findall(block))
        name = re.search(r"outputs/(\w+)/", block)[1]

        def part(index):
            self.teach(0, 1, 400, f"run.name={name}", "run.chunk_size=64", "--only", f"{index}/3")
            return self.run_folder(name)

        def told(text, *runs):
            for run, stamp in zip(runs, (one, other, merged)):
                text = text.replace(run.name, stamp)
            return text.replace(f"{self.folder}/", "")

        first, last = part(0), part(2)
        missing = self.run_to(65, 1, "--merge", str(first), str(last), config=None)
        third = part(1)
        whole = self.run_to(0, 1, "--merge", str(first), str(last), str(third), config=None)
        made = max((self.output / name).glob("2*"))
        shown = "".join(re.findall(r"^(?!\$).*\n", block, re.M))
        error = re.match(r"(.*\n)*?mgpu_spmd: .*\n", missing.err)[0]  # mpirun's words follow
        self.assertEqual(told(error, first, last) + told(whole.out, first, last, made), shown)

    def test_table_of_workers(self):
        block = pages.block_with("docs/teacher.md", "Worker rank assignments")
        ended = self.teach(0, 4, 8, "--gpus-per-model=2")
        self.assertIn(block, ended.out)

    def test_note_and_records_of_a_row_that_kills_its_rank(self):
        note = pages.block_with("docs/generate.md", "killed its rank twice")
        abort = program.failpoint("sample.7:1:abort")
        for _ in range(2):
            self.teach(128 + signal.SIGABRT, 1, 30, env=abort | program.AT_ONCE)
        run = self.run_folder()
        died = (run / "attempts/0001.died").read_text()
        self.assertEqual(died, "0 self SIGABRT\n")
        ended = self.teach(0, 1, 30, "output.max_failed=0.1")
        told = ended.out.replace("SIGABRT", "SIGKILL").replace(str(run), "DIR")
        self.assertIn(" ".join(note.split()), " ".join(told.split()))  # the width of lines varies
        deaths = [json.loads(line) for line in (run / "quarantine.jsonl").read_text().splitlines()]
        self.assertEqual([set(death) for death in deaths], [set(pages.names("death"))] * 2)
        self.assertEqual([death["cause"] for death in deaths], ["SIGABRT"] * 2)
        attempts = [json.loads((run / f"attempts/000{i}.json").read_text()) for i in (1, 3)]
        shown = set(pages.names("attempt"))
        self.assertEqual([set(attempt) for attempt in attempts], [shown - {"ended", "exit"}, shown])
        self.assertIn("`self`", pages.FORMATS.read_text())


if __name__ == "__main__":
    program.main()
