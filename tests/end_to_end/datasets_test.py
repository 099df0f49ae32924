"""Data sets with checked answers: training on them, and the scores of completions."""

import json
import pathlib
import sys

import program
import tiny_lm
from tiny_run import TinyRun

try:
    import h5py
except ImportError:
    h5py = None


class Datasets(TinyRun):

    GRAPHS = ("data.dataset=star_graph", "data.star_graph.path=3", "data.star_graph.nodes=8",
              "data.star_graph.rows=[200, 30, 40]")

    def setUp(self):
        super().setUp()
        tiny_lm.make_folder(self.model, tokenizer=False)

    def results(self):
        return (self.run_folder() / "results.h5").read_bytes()

    def test_a_model_learns_star_graphs_and_its_paths_are_scored(self):
        self.run_job(1, "job=train", f"model.init={self.model}", *self.GRAPHS, "train.seq_len=24",
                     "train.global_batch_size=8", "train.max_steps=3", "train.eval_every=3")
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertEqual(file["metrics/eval/step"][:].tolist(), [3])  # split validation
        generate = ("job=generate", f"model.path={self.model}", *self.GRAPHS,
                    "generate.max_new_tokens=3", "run.name=tiny")
        ended = self.run_job(2, *generate)
        self.assertIn("accuracy 0.", ended.out)
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertEqual(len(file["samples/score"]), 40)  # split test
        two = self.results()
        self.run_job(1, *generate)
        self.assertEqual(self.results(), two)

    def test_a_data_set_that_is_too_large_is_refused(self):
        ended = self.run_job(2, "job=generate", f"model.path={self.model}", *self.GRAPHS[:3],
                             "data.star_graph.rows=[161277, 2, 2]", code=78)
        self.assertIn("need 161281 different rows, and there are only 161280", ended.err)
        self.assertIn("= help: data.star_graph.rows=[129024, 16128, 16128]", ended.err)
        ended = self.run_job(2, "job=generate", f"model.path={self.model}", "data.dataset=gsm8k",
                             f"data.gsm8k.path={self.folder}", code=66)
        self.assertIn("train.jsonl", ended.err)

    EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "conf/examples/reward.py"

    def judge(self, ranks, *more, code=0):
        model = self.folder / "texts"
        if not model.exists():
            tiny_lm.make_folder(model)
        rows = [{"question": f"what is {i}", "answer": i} for i in range(6)]
        path = tiny_lm.write_rows(self.folder / "rows.jsonl", rows)
        return self.run_job(ranks, "job=generate", f"model.path={model}", f"data.path={path}",
                            "data.columns.prompt=question", "generate.max_new_tokens=3",
                            "run.name=tiny", *more, code=code)

    def test_completions_of_a_file_are_judged_by_rewards(self):
        keys = ("reward.functions={match: 1, length: 0.5, command: 0.25}", "reward.length=3",
                f"reward.command={sys.executable} {self.EXAMPLE}")
        ended = self.judge(2, *keys, "reward.rows_per_call=2")
        self.assertIn("; reward ", ended.out)
        with h5py.File(self.run_folder() / "results.h5") as file:
            total, match, length, command = (
                file[f"samples/{name}"][:]
                for name in ("reward", "reward_match", "reward_length", "reward_command"))
        self.assertEqual(command.tolist(), [-0.1] * 6)
        self.assertEqual(total.tolist(), (match + 0.5 * length + 0.25 * command).tolist())
        two = self.results()
        self.judge(1, *keys)
        self.assertEqual(self.results(), two)

    def test_rewards_that_cannot_be_computed_end_all_ranks(self):
        ended = self.judge(2, "reward.functions=[command]",
                           "reward.command=echo no model >&2; exit 3", code=65)
        self.assertIn("error[E551]: the reward command ended with exit code 3", ended.err)
        self.assertIn("its last words: no model", ended.err)
        ended = self.judge(2, "reward.functions=[match]", "data.columns.answer=solution", code=65)
        self.assertIn("solution", ended.err)
        ended = self.judge(1, "reward.functions=[regex]", "reward.regex=a(b", code=78)
        self.assertIn("missing closing parenthesis at character 4", ended.err)

    def export_pairs(self, code=0):
        folder = self.run_folder()
        ended = self.run_to(code, 1, "--export", "pairs", str(folder), config=None)
        return folder / "pairs.jsonl", ended

    def test_the_best_and_the_worst_completion_are_a_pair(self):
        self.judge(2, "reward.functions=[regex]", "reward.regex=[aeiou]", "generate.num_samples=8",
                   "generate.do_sample=true")
        path, _ = self.export_pairs()
        pairs = [json.loads(line) for line in path.read_text().splitlines()]
        with h5py.File(self.run_folder() / "results.h5") as file:
            rewards = file["samples/reward"][:].reshape(6, 8)
        self.assertEqual(len(pairs), sum(len(set(row)) == 2 for row in rewards.tolist()))
        self.assertGreater(len(pairs), 0)
        for pair in pairs:
            self.assertTrue(pair["prompt"].startswith("what is "))
            self.assertTrue(set(pair["chosen"]) & set("aeiou"))
            self.assertFalse(set(pair["rejected"]) & set("aeiou"))
            self.assertEqual((pair["score_chosen"], pair["score_rejected"]), (1, 0))
        ended = self.run_job(1, "job=train", "train.recipe=dpo", f"data.path={path}",
                             f"model.path={self.folder / 'texts'}", "train.seq_len=64",
                             "train.global_batch_size=2", "train.max_steps=1", "run.name=dpo")
        self.assertIn("Result:        loss 0.6931", ended.out)

    def test_runs_without_pairs_say_why(self):
        self.judge(1)
        ended = self.export_pairs(64)[1]
        self.assertIn("error[E143]: the run has no rewards by which completions", ended.err)
        self.run_job(1, "job=generate", f"model.path={self.model}", *self.GRAPHS, "run.name=tiny",
                     "generate.max_new_tokens=3", "generate.num_samples=4",
                     "generate.do_sample=true", "reward.functions=[length]", "reward.length=2")
        ended = self.export_pairs(64)[1]
        self.assertIn("no prompt has two completions with text and different rewards", ended.err)
        self.assertIn("generate.num_samples=8", ended.err)

    def test_pairs_have_the_tokens_of_the_run(self):
        keys = ("reward.functions=[regex]", "reward.regex=[aeiou]", "generate.num_samples=8",
                "generate.do_sample=true")
        self.judge(1, *keys)
        rows = [{"messages": [{"role": "user", "content": f"what is {i}"}]} for i in range(4)]
        path = tiny_lm.write_rows(self.folder / "chats.jsonl", rows)
        self.run_job(1, "job=generate", f"model.path={self.folder / 'texts'}", f"data.path={path}",
                     "generate.max_new_tokens=3", "run.name=tiny", *keys)
        ended = self.export_pairs(64)[1]
        self.assertIn("into other tokens than this run: it was given as messages", ended.err)


if __name__ == "__main__":
    program.main()
