"""Runs the program with the parts of tests/extension, as a user of those parts would."""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "end_to_end"))

import program
import tiny_lm

try:
    import h5py
except ImportError as error:
    h5py = None
    NO_H5PY = f"no h5py here: {error}"


class Extension(program.ProgramTest):

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest(NO_H5PY)
        self.model = self.folder / "model"
        tiny_lm.make_folder(self.model, tokenizer=False)
        self.config = self.folder / "run.yaml"
        self.config.write_text("schema: 1\nrun: {name: tiny}\n")

    def run_job(self, ranks, *arguments, code=0):
        return self.run_to(code, ranks, *arguments, config=self.config)

    def results(self):
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        return {key: result["value"] for key, result in summary["results"].items()}

    def test_the_key_lists_the_data_set(self):
        ended = self.run_to(0, 1, "--explain", "data.dataset", config=None)
        self.assertIn("counting", ended.out)
        self.assertIn("synthetic_texts", ended.out)

    def scores(self):
        with h5py.File(self.run_folder() / "results.h5") as file:
            score = file["samples/score"]  # as docs/formats.md describes it
            self.assertEqual((score.dtype.name, score.attrs["units"]), ("float64", ""))
            return (score[:],
                    file["arrays/samples/output_ids/values"][:].reshape(-1, 4))

    def expected_score(self, row, answer):
        """How near `answer` is to the four ids after those of a row of split test."""
        begin = 3 + 24 + 8 + row + 3
        return sum(1 / (1 + abs(int(token) - begin - i)) for i, token in enumerate(answer)) / 4

    def test_completions_of_a_data_set_are_scored(self):
        keys = ("job=generate", f"model.path={self.model}", "data.dataset=counting",
                "generate.max_new_tokens=4", "generate.prompt_log_probs=false")
        self.run_job(2, *keys, "generate.do_sample=false")
        scores, answers = self.scores()
        self.assertEqual(len(scores), 8)  # split test
        for row, (score, answer) in enumerate(zip(scores, answers)):
            self.assertAlmostEqual(score, self.expected_score(row, answer))
        self.assertGreater(len(set(scores)), 4)
        self.assertAlmostEqual(self.results()["score"], scores.mean())
        self.run_job(2, *keys, "generate.do_sample=true", "generate.num_samples=2",
                     "data.start=3", "data.max_samples=4")
        scores, answers = self.scores()
        self.assertEqual(len(scores), 8)
        for i, (score, answer) in enumerate(zip(scores, answers)):
            self.assertAlmostEqual(score, self.expected_score(3 + i // 2, answer))

    def test_a_model_learns_the_rows_of_a_data_set(self):
        self.run_job(2, "job=train", f"model.init={self.model}", "data.dataset=counting",
                     "train.seq_len=8", "train.global_batch_size=8", "train.max_steps=3",
                     "train.eval_every=3")
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertEqual(file["metrics/eval/step"][:].tolist(), [3])  # split validation

    def test_agents_play_in_an_environment(self):
        ended = self.run_job(1, "job=train", "data.env=corridor", "data.streams=1",
                             "data.episodes=3", "train.max_steps=2", "train.global_batch_size=4",
                             "model.tf_n_embd=16", "model.tf_n_layer=1", "model.tf_n_head=2",
                             "model.tf_n_inner=16", "model.n_transit=16", "train.warmup_steps=0",
                             "evaluate.runs=1", "evaluate.episodes=2")
        self.assertIn("return", ended.out)

    def pairs(self, name, count, words=("yes", "no")):
        """A file of pairs; the chosen completion is the first of `words`."""
        rows = [{"prompt": f"is {i} right. ", "chosen": words[0], "rejected": words[1]}
                for i in range(count)]
        return tiny_lm.write_rows(self.folder / name, rows)

    def ranking(self, *more):
        model = self.folder / "texts"
        if not model.exists():
            tiny_lm.make_folder(model)
        return ("job=train", "train.recipe=ranking", f"model.path={model}",
                f"data.path={self.pairs('pairs.jsonl', 24)}",
                f"data.eval_path={self.pairs('held_out.jsonl', 6)}", "train.seq_len=32",
                "train.global_batch_size=8", "train.max_steps=12", "train.eval_every=6",
                "train.learning_rate=0.01", "train.warmup_steps=0", "train.lanes=4",
                "run.deterministic=layout", *more)

    def weights(self, name="tiny"):
        folder = self.run_folder(name) / "ckpt" / "last"
        return folder, (folder / "model.safetensors").read_bytes()

    def test_a_recipe_learns_pairs_with_its_own_head(self):
        self.run_job(1, *self.ranking())
        with h5py.File(self.run_folder() / "results.h5") as file:
            loss = file["metrics/train/loss"][:]
            self.assertEqual(file["metrics/eval/accuracy"][:].tolist()[-1], 1.0)
        self.assertAlmostEqual(loss[0], math.log(2), delta=0.05)
        self.assertLess(loss[-1], 0.5)
        self.assertEqual(self.results()["eval_accuracy"], 1.0)
        folder, one_rank = self.weights()
        config = json.loads((folder / "config.json").read_text())
        self.assertEqual(config["architectures"], ["LlamaForSequenceClassification"])
        self.assertIn(b'"score.weight"', one_rank)
        self.assertNotIn(b'"lm_head.weight"', one_rank)
        self.run_job(2, *self.ranking("run.name=two"))
        self.assertEqual(self.weights("two")[1], one_rank)
        self.run_job(1, *self.ranking("ranking.margin=3.0", "run.name=margin"))
        self.assertNotEqual(self.weights("margin")[1], one_rank)

    def test_a_recipe_with_a_head_is_planned_merged_and_resumed(self):
        planned = self.run_job(1, *self.ranking(), "--plan")
        self.assertIn("2 for the first sweep", planned.out)
        self.run_job(1, *self.ranking("run.name=whole"))
        killed = self.ranking("checkpoint.every=6")
        self.run_to(137, 1, *killed, config=self.config,
                    env=program.failpoint("train.pass:33:kill"))  # in step 9
        self.run_to(0, 1, "--merge", str(self.run_folder()), config=None)
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertEqual(file["metrics/eval/step"][:].tolist(), [6])
        self.run_job(1, *killed)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.weights()[1], self.weights("whole")[1])

    def test_wrong_pairs_are_refused(self):
        ended = self.run_job(1, *self.ranking("train.global_batch_size=7",
                                              "run.deterministic=false"), code=78)
        self.assertIn("is not a multiple of 2", ended.err)
        self.pairs("pairs.jsonl", 4, ("yes", ""))
        ended = self.run_job(1, *self.ranking(), code=65)
        self.assertIn("its completion is empty", ended.err)
        ended = self.run_job(1, "job=train", f"model.path={self.folder / 'texts'}",
                             f"data.path={self.folder / 'pairs.jsonl'}", "ranking.margin=1", code=78)
        self.assertIn("train.recipe=ranking", ended.err)

    def test_two_sessions_of_a_job_share_a_model(self):
        self.run_job(4, "job=halves", f"model.path={self.model}", "data.dataset=counting",
                     "generate.max_new_tokens=4", "generate.do_sample=false")
        results = self.results()
        [low] = self.run_folder().glob("low/20*/results.h5")
        with h5py.File(low) as file:
            self.assertAlmostEqual(results["low_score"], file["samples/score"][:].mean())
        self.assertGreater(results["high_score"], 0)
        events = [json.loads(line)
                  for line in (self.run_folder() / "events.jsonl").read_text().splitlines()]
        self.assertEqual({event["session"] for event in events if "session" in event},
                         {"low", "high"})
        self.assertNotEqual(results["high_score"], results["low_score"])
        self.run_job(3, "job=halves", f"model.path={self.model}", "data.dataset=counting", code=78)

    def test_wrong_data_sets_are_refused(self):
        for keys, message in (
                (("data.dataset=counting", "data.path=x.jsonl"), "together with `data.path`"),
                (("data.synthetic_texts=9",), "data set synthetic_texts has no split test"),
                (("data.dataset=synthetic_texts", "data.split=train"), "has no rows"),
                (("data.dataset=counting", "data.format=csv"), "without `data.path`"),
                (("data.dataset=counting", "data.synthetic_texts=9", "data.split=train"),
                 "without data set synthetic_texts"),
                (("data.split=train",), "has no meaning without a data set")):
            ended = self.run_job(1, "job=generate", f"model.path={self.model}", *keys, code=78)
            self.assertIn(message, ended.err)


if __name__ == "__main__":
    program.main()
