"""Parts of a run of job teacher, and their result after --merge."""
import json
import pathlib

import program
import tiny_lm
from teacher_case import CONFIG, ROWS, TeacherCase, kill, texts


class Parts(TeacherCase):

    def make_parts(self, count, parts=None, ranks=1):
        folders = []
        for part in parts if parts is not None else range(count):
            ended = self.teach(0, ranks, f"--only={part}/{count}")
            self.assertIn(f"part {part} of {count}", ended.out)
            folders.append(self.run_folder())
        return folders

    def merge(self, code, *folders):
        return self.run_to(code, 2, "--merge", *map(str, folders), config=None)

    def test_merged_parts_are_the_bytes_of_one_run(self):
        golden = self.golden_of()
        self.start_over()
        folders = self.make_parts(3)
        self.assertEqual(self.num_runs(), 3)
        for folder in folders:
            self.assertNotEqual(self.sha256(folder), golden)
        merged = self.merge(0, *reversed(folders))
        self.assertEqual(self.sha256(), golden)
        self.assertEqual(self.num_runs(), 4)
        self.assertRegex(merged.out, r"targets +50 of 50 samples")
        self.run_to(0, 1, "--export", "jsonl", str(self.run_folder()), config=None)

    def test_the_plan_of_a_part(self):
        whole, part = (json.loads(self.teach(0, 1, "--plan=json", "devices.world=2", *keys).out)
                       for keys in ((), ("--only=1/3",)))
        self.assertEqual([share["count"] for share in whole["shares"]], [27, 23])
        self.assertEqual([share["first"] for share in part["shares"]], [18, 27])
        self.assertEqual([share["count"] for share in part["shares"]], [9, 9])
        self.assertIn("this run does part 1 of 3: 18 of 50 samples", part["notes"])

    def test_worker_names_and_more_parts_than_chunks(self):
        golden = self.golden_of("run.chunk_size=20")
        self.start_over()
        folders = []
        for part in range(4):  # of three chunks
            self.teach(0, 2, "run.chunk_size=20", f"worker_id={part}", "total_workers=4")
            folders.append(self.run_folder())
        self.merge(0, *folders, f"run.output={self.folder / 'whole'}", "run.name=joined")
        self.assertEqual(self.sha256(self.folder / "whole" / "joined" / "latest"), golden)

    def test_a_part_at_work_is_beside_the_others(self):
        golden = self.golden_of()
        self.start_over()
        jobs = [self.start(1, *self.keys(f"--only={part}/2"), config=CONFIG) for part in range(2)]
        self.assertEqual([job.wait().code for job in jobs], [0, 0])
        folders = sorted(path for path in (self.output / "tiny").glob("2*"))
        self.merge(0, *folders)
        self.assertEqual(self.sha256(), golden)

    def test_a_killed_part_goes_on_as_that_part(self):
        golden = self.golden_of()
        self.start_over()
        self.teach(137, 1, "--only=1/2", env=program.failpoint("ledger.write:4:kill"))
        killed = self.run_folder()
        self.make_parts(2, parts=[0])
        first = self.run_folder()
        ended = self.merge(65, first, killed)
        self.assertIn("not finished", ended.err)
        self.assertIn(f"--resume={killed}", ended.err)
        self.teach(0, 2, "--only=1/2")
        self.assertEqual(self.num_runs(), 2)
        self.merge(0, first, killed)
        self.assertEqual(self.sha256(), golden)

    def test_what_is_missing_is_named_and_what_is_doubled_counts_once(self):
        golden = self.golden_of()
        self.start_over()
        first, third = self.make_parts(3, parts=[0, 2])
        ended = self.merge(65, first, third)
        self.assertIn("error[E610]", ended.err)
        self.assertIn("part 1 of 3", ended.err)
        self.assertIn("--only 1/3", ended.err)
        second, again = self.make_parts(3, parts=[1, 1])
        ended = self.merge(0, first, second, third, again)
        self.assertIn("part 1 of 3 is given 2 times and taken once", ended.out)
        self.assertEqual(self.sha256(), golden)

    def test_parts_of_other_sizes_are_joined_as_far_as_they_reach(self):
        golden = self.golden_of()
        self.start_over()
        half, = self.make_parts(2, parts=[0])
        third, = self.make_parts(3, parts=[2])
        ended = self.merge(0, half, third)
        self.assertIn("partial", ended.out)
        self.teach(0, 2, f"--resume={self.run_folder()}")
        self.assertEqual(self.sha256(), golden)

    def test_runs_of_other_data_or_keys_are_refused(self):
        first, = self.make_parts(2, parts=[0])
        self.teach(0, 1, "--only=1/2", "teacher.top_k=4")
        ended = self.merge(65, first, self.run_folder())
        self.assertIn("teacher.top_k: 8 in the first, 4 in the other", ended.err)
        tiny_lm.write_rows(self.data, texts(ROWS + 1)[1:])
        second, = self.make_parts(2, parts=[1])
        ended = self.merge(65, first, second)
        self.assertIn("these runs read inputs with different checksums", ended.err)
        self.assertRegex(ended.err, r"data\.path \S+: [0-9a-f]{8} in the first, [0-9a-f]{8} in the")
        self.assertNotIn("model.path", ended.err)
        again = ended.err.split("./mgpu_spmd ")[1].splitlines()[0].split()
        self.assertEqual(pathlib.Path(again[0]).parent.parent, first)
        self.run_to(0, 1, *again[1:], config=again[0])
        self.merge(0, self.run_folder(), second)

    def test_files_that_change_after_the_parts_and_sizes_on_gpus(self):
        first, second = self.make_parts(2)
        written = json.loads((first / "run.json").read_text())
        on_gpu = written | {"keys": written["keys"] | {"teacher.batch_size": "8"}}
        (first / "run.json").write_text(json.dumps(on_gpu))
        ended = self.merge(65, first, second)
        self.assertIn("teacher.batch_size: 8 in the first, (none) in the other", ended.err)
        (first / "run.json").write_text(json.dumps(written))
        tiny_lm.write_rows(self.data, texts(ROWS + 1)[1:])
        ended = self.merge(65, first, second)
        self.assertIn("an input has changed since the run read it", ended.err)
        self.assertRegex(ended.err, r"data\.path: [0-9a-f]{8} in the run, [0-9a-f]{8} now")

    def test_parts_that_do_not_exist(self):
        for text, code in (("2/2", 78), ("x", 64), ("1/", 64)):
            ended = self.run_program(1, *self.keys(f"--only={text}"), config=CONFIG)
            self.assertEqual(ended.code, code, text)
        ended = self.run_program(1, "--only=0/2")
        self.assertIn("job train has no parts", ended.err)


if __name__ == "__main__":
    program.main()
