"""Runs the program with the parts of tests/extension, as a user of those parts would."""
import ctypes
import json
import math
import os
import pathlib
import re
import struct
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "end_to_end"))

import program
import tiny_lm
from tiny_run import TinyRun

try:
    import h5py
    from safetensors.numpy import load_file
except ImportError:
    h5py = None


class OpenCount:
    """Counts the opens of a file by any process of the machine, as reported by the kernel. A thread
    reads the events immediately, because the kernel merges equal pending events."""
    OPEN, ATTRIB = 0x20, 0x4
    EVENT = struct.Struct("iIII")

    def __init__(self, path):
        self.path, self.opens = path, 0
        libc = ctypes.CDLL(None, use_errno=True)
        self.queue = libc.inotify_init1(0)
        if libc.inotify_add_watch(self.queue, bytes(path), self.OPEN | self.ATTRIB) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")
        self.thread = threading.Thread(target=self._take)
        self.thread.start()

    def _take(self):
        """Runs until the attributes of the file change."""
        while True:
            for event in self.EVENT.iter_unpack(os.read(self.queue, 4096)):
                if event[1] & self.ATTRIB:
                    return
                self.opens += 1

    def end(self):
        self.path.chmod(0o600)
        self.thread.join()
        os.close(self.queue)
        return self.opens


class Extension(TinyRun):

    def setUp(self):
        super().setUp()
        tiny_lm.make_folder(self.model, tokenizer=False)

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
        """Returns how near `answer` is to the four ids after those of a row of split test."""
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
        for tokens in ("step", "transition"):
            ended = self.run_job(1, "job=train", "data.env=corridor", "data.streams=1",
                                 "data.episodes=3", "train.max_steps=2",
                                 "train.global_batch_size=4", f"model.tokens={tokens}",
                                 "model.tf_n_embd=16", "model.tf_n_layer=1", "model.tf_n_head=2",
                                 "model.tf_n_inner=16", "model.n_transit=16",
                                 "train.warmup_steps=0", "evaluate.runs=1", "evaluate.episodes=2")
            self.assertIn("return", ended.out)
            weights = load_file(self.weights()[0] / "model.safetensors")
            self.assertEqual(weights["head.bias"].shape, (2,))  # actions of the corridor

    def pairs(self, name, count, words=("yes", "no")):
        """Returns the path of a new file of pairs. `words`: the chosen completion, the rejected."""
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
        changed = {"train.global_batch_size=8": "train.global_batch_size=7",
                   "run.deterministic=layout": "run.deterministic=false"}
        ended = self.run_job(1, *(changed.get(key, key) for key in self.ranking()), code=78)
        self.assertIn("is not a multiple of 2", ended.err)
        bad = self.pairs("bad.jsonl", 4, ("yes", ""))
        ended = self.run_job(1, *(f"data.path={bad}" if key.startswith("data.path") else key
                                  for key in self.ranking()), code=65)
        self.assertIn("`rejected` is empty", ended.err)
        ended = self.run_job(1, "job=train", f"model.path={self.folder / 'texts'}",
                             f"data.path={self.folder / 'pairs.jsonl'}", "ranking.margin=1", code=78)
        self.assertIn("train.recipe=ranking", ended.err)

    GREEDY = ("generate.max_new_tokens=4", "generate.do_sample=false")

    def second_model(self):
        """Returns a folder with another random model of the same vocabulary."""
        folder = self.folder / "second"
        if not folder.exists():
            tiny_lm.make_folder(folder, "qwen3", tokenizer=False)
        return folder

    def halves(self, *more, opinion=None):
        return ("job=halves", f"model.path={self.model}", "data.dataset=counting",
                f"halves.opinion={opinion or self.second_model()}", *self.GREEDY, *more)

    def session_file(self, session):
        [found] = self.run_folder().glob(f"{session}/20*/results.h5")
        return found

    def alone(self, *more):
        """Runs job generate on the rows of the lower half. Returns the bytes of results.h5."""
        self.run_job(2, "job=generate", "run.name=alone", f"model.path={self.model}",
                     "data.dataset=counting", "data.max_samples=4", *self.GREEDY, *more)
        return (self.run_folder("alone") / "results.h5").read_bytes()

    def events(self, word):
        lines = (self.run_folder() / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == word]

    def test_a_data_set_without_pairs_is_refused(self):
        keys = [key for key in self.ranking() if not key.startswith("data.")]
        ended = self.run_job(1, *keys, "data.synthetic_texts=4", code=65)
        self.assertIn("data set synthetic_texts, split train:1: it has no `", ended.err)
        self.assertIn("= help: another data set, or data.path=FILE", ended.err)

    def test_two_sessions_of_a_job_share_a_model(self):
        second = self.second_model()
        model_opens = OpenCount(self.model / "model.safetensors")
        second_opens = OpenCount(second / "model.safetensors")
        self.run_job(4, *self.halves())
        for opens in (model_opens.end(), second_opens.end()):  # the facts, then the weights
            self.assertIn(opens, (1, 2))
        results = self.results()
        with h5py.File(self.session_file("low")) as file:
            self.assertAlmostEqual(results["low_score"], file["samples/score"][:].mean())
        self.assertGreater(results["high_score"], 0)
        events = [json.loads(line)
                  for line in (self.run_folder() / "events.jsonl").read_text().splitlines()]
        self.assertEqual({event["session"] for event in events if "session" in event},
                         {"low", "high"})
        self.assertNotEqual(results["high_score"], results["low_score"])
        self.assertEqual(self.session_file("low").read_bytes(), self.alone())

    def test_the_opinion_is_that_of_the_second_model(self):
        self.run_job(2, *self.halves())
        second = self.results()
        self.run_job(2, *self.halves(opinion=self.model))
        self.assertEqual(self.results()["low_score"], second["low_score"])
        self.assertNotEqual(self.results()["high_score"], second["high_score"])

    def test_wrong_halves_are_refused(self):
        self.run_job(3, *self.halves(), code=78)
        ended = self.run_job(2, "job=halves", f"model.path={self.model}", "data.dataset=counting",
                             code=78)
        self.assertIn("halves.opinion=FOLDER", ended.err)
        ended = self.run_job(2, "job=halves", f"model.path={self.model}",
                             f"halves.opinion={self.model}", code=78)
        self.assertIn("data.dataset=counting", ended.err)

    def test_a_bad_row_ends_its_session_only(self):
        last_rows_are_bad = "data.counting.first_id=29"  # of 8; the vocabulary has 67 ids
        ended = self.run_job(4, *self.halves(last_rows_are_bad), code=1)
        self.assertIn("mgpu_spmd: incomplete, exit 1", ended.out + ended.err)
        [failure] = self.events("error")
        self.assertEqual((failure["session"], failure["code"]), ("high", "E531"))
        self.assertIn("token 67 is not in the model's vocabulary of 67", failure["text"])
        line = r"(?m)^\S+ error  session high  .*token 67 is not in the model's vocabulary"
        for text in (ended.out + ended.err, (self.run_folder() / "run.log").read_text()):
            self.assertEqual(len(re.findall(line, text)), 1, text)
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("Session high has failed with E531.", page)
        self.assertEqual(set(self.results()), {"low_score"})
        self.assertEqual(list(self.run_folder().glob("high/20*/results.h5")), [])
        self.assertEqual(self.session_file("low").read_bytes(), self.alone(last_rows_are_bad))

    def test_warnings_of_all_sessions_are_shown(self):
        ended = self.run_job(4, *self.halves("data.counting.first_id=31", "data.on_bad_row=mark",
                                             "output.max_failed=1"))
        page = (self.run_folder() / "report.html").read_text()
        for session, text in (("low", "2 samples failed: "), ("high", "4 rows are left out")):
            [warning] = [event for event in self.events("warn") if event["session"] == session]
            self.assertTrue(warning["text"].startswith(text), warning)
            line = rf"(?m)^\S+ warn   session {session}  {text}"
            for shown in (ended.out + ended.err, (self.run_folder() / "run.log").read_text()):
                self.assertRegex(shown, line)
            self.assertIn(text, page)
            self.assertIn(f"Session {session} has warned of this.", page)

    def ended_by(self, plan, code, *keys):
        """Runs with this fault plan, and expects exit code `code`. Returns the lines with errors,
        where each number is replaced by N."""
        job = self.start(4, *keys, config=self.config, env=program.failpoint(plan))
        ended = job.wait()
        self.assertEqual(ended.code, code, ended.out[-2000:] + ended.err[-2000:])
        return [re.sub(r"\d+", "N", line) for line in re.findall(r"(?m)^error\[.*$", ended.err)]

    def end_as_without_sessions(self, plan, code, *more):
        plain = self.ended_by(plan, code, "job=generate", f"model.path={self.model}",
                              "data.dataset=counting", *self.GREEDY, *more)
        self.assertEqual(len(plain), 1)
        self.assertEqual(self.ended_by(plan, code, *self.halves(*more)), plain)

    def test_a_crash_in_a_session_ends_the_run(self):
        self.end_as_without_sessions("sample.1:1:kill", 137)

    def test_a_hang_in_a_session_ends_the_run(self):
        self.end_as_without_sessions("sample.1:1:stop", 76, "watchdog.limit_s=2",
                                     "watchdog.slow_limit_s=2")

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
