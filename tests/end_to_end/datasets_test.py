"""Data sets with checked answers: training on them, and the scores of completions."""

import json
import math
import os
import pathlib
import shutil
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

    def test_a_reward_command_runs_once_per_group_and_is_started_again(self):
        started = self.folder / "started"
        script = self.folder / "judge.sh"
        script.write_text(f"""echo >> {started}
while read -r line; do
  case $line in *'what is 3'*) exit 3;; *) echo '{{"reward": 1}}';; esac
done
""")
        keys = ("reward.functions=[command]", f"reward.command=sh {script}", "run.chunk_size=2",
                "run.schedule=static")
        golden = None
        for ranks, more, starts in ((1, (), 1), (2, (), 2), (2, ("--gpus-per-model=2",), 1),
                                    (4, ("--gpus-per-model=2",), 2)):
            started.unlink(missing_ok=True)
            shutil.rmtree(self.output, ignore_errors=True)
            ended = self.judge(ranks, *keys, *more)
            text = " ".join((ended.out + ended.err).split())
            self.assertIn("exit code 3 before it had answered 1 row; the row has no reward", text)
            self.assertIn("1 sample without a reward", text)
            # It ends with row 3, and again when it gets the row alone, which may be the last one.
            self.assertIn(len(started.read_text()) - starts, (1, 2), (ranks, more))
            with h5py.File(self.run_folder() / "results.h5") as file:
                rewards = file["samples/reward"][:].tolist()
            self.assertEqual([r for i, r in enumerate(rewards) if i != 3], [1.0] * 5)
            self.assertTrue(math.isnan(rewards[3]))
            golden = golden or self.results()
            self.assertEqual(self.results(), golden, (ranks, more))

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
        messages = ("job=generate", f"model.path={self.folder / 'texts'}", f"data.path={path}",
                    "generate.max_new_tokens=3", "run.name=tiny", *keys)
        self.run_job(1, *messages)
        pairs, _ = self.export_pairs()
        for line in pairs.read_text().splitlines():  # the chat template writes the first token
            self.assertTrue(json.loads(line)["prompt"].startswith("user.what is "))
        self.judge(1, *keys, "generate.add_special_tokens=false")
        ended = self.export_pairs(64)[1]
        self.assertIn("into other tokens than this run, for example because of", ended.err)


class PublishedFiles(TinyRun):
    """Runs jobs on the published files of GSM8K, in the folder MGPU_TEST_DATA or in
    ../shared/data next to the repository."""

    def setUp(self):
        super().setUp()
        data = pathlib.Path(os.environ.get("MGPU_TEST_DATA", program.TOP.parent / "shared/data"))
        if not (data / "gsm8k" / "test.jsonl").exists():
            self.skipTest(f"{data / 'gsm8k'} is not here")
        tiny_lm.make_folder(self.model)
        config = self.model / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) |
                                     {"max_position_embeddings": 4096}))
        self.keys = (f"model.path={self.model}", "data.dataset=gsm8k", "run.name=tiny",
                     f"data.gsm8k.path={data / 'gsm8k'}", "data.max_samples=6")

    def samples(self, *names):
        with h5py.File(self.run_folder() / "results.h5") as file:
            return [file[f"samples/{name}"][:].tolist() for name in names]

    def test_completions_of_gsm8k_are_judged(self):
        ended = self.run_job(2, "job=generate", *self.keys, "generate.max_new_tokens=8",
                             "generate.num_samples=2", "generate.do_sample=true")
        self.assertIn("accuracy 0.0000", ended.out)
        prompts, scores = self.samples("prompt_index", "score")
        self.assertEqual(prompts, [i for i in range(6) for _ in range(2)])
        self.assertEqual(scores, [0.0] * 12)

    def test_steps_of_gsm8k_get_values(self):
        self.run_job(2, "job=collect", *self.keys, "collect.split=tokens", "collect.step_tokens=4",
                     "collect.num_paths=3", "collect.rollouts=2", "collect.max_new_tokens=12")
        self.check_paths(3)

    def test_agents_work_on_gsm8k(self):
        self.run_job(2, "job=collect", *self.keys, "collect.steps=latent", "collect.num_paths=3",
                     "collect.max_new_tokens=8")
        self.check_paths(3)

    def check_paths(self, paths):
        questions, count, status = self.samples("question_index", "n_paths", "status")
        self.assertEqual(questions, list(range(6)))
        self.assertEqual(count, [paths] * 6)
        self.assertEqual(status, [0] * 6)

    def test_a_policy_learns_from_answers_of_gsm8k(self):
        self.run_job(1, "job=train", *self.keys, "train.recipe=grpo", "grpo.group_size=2",
                     "grpo.max_new_tokens=8", "train.global_batch_size=4", "train.lanes=2",
                     "train.max_steps=2", "train.seq_len=1024", "reward.functions=[match]")
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertEqual(file["metrics/train/reward"][:].tolist(), [0.0, 0.0])


if __name__ == "__main__":
    program.main()
