"""Tests recipe reward of job train, and the reward `model` of job generate."""
import json
import shutil
import sys
import unittest

import program
import tiny_lm
from recipe_case import RecipeCase

try:
    import h5py
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages

PAIRS = program.TOP / "conf/examples/pairs/held_out.jsonl"
VALUES = ("reward_margin", "mean_reward", "min_reward", "max_reward", "std_reward")


def import_transformers(test):
    """Returns modules torch and transformers, whose import takes seconds. Skips without them."""
    try:
        import torch
        import transformers
    except ImportError as error:
        test.skipTest(f"no transformers here: {error}")
    return torch, transformers


def rewards_of_transformers(torch, transformers, folder, texts):
    """Returns the outputs for texts that end with the eos token, in one padded batch."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    batch = tokenizer([text + tokenizer.eos_token for text in texts], return_tensors="pt",
                      padding=True, padding_side="right")
    with torch.no_grad():
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    assert type(model).__name__ == "LlamaForSequenceClassification"
    assert logits.shape == (len(texts), 1)
    return logits[:, 0].tolist()


class Reward(RecipeCase):
    CONFIG = program.TOP / "conf/train/reward.yaml"
    FILES = ("ckpt/last/config.json", *RecipeCase.FILES)

    def test_4_ranks_give_the_bytes_of_one(self):
        golden = self.golden()
        self.train(4)
        self.assertEqual(self.bytes_of(), golden)

    def test_1_and_2_ranks_and_a_resumed_run_give_the_same_bytes(self):
        more = ("checkpoint.every=2",)
        golden = self.golden(*more)
        kill = program.failpoint("train.pass:16:kill")  # in step 4
        self.train(1, *more, code=137, env=kill)
        self.train(2, *more)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.bytes_of(), golden)
        train = self.columns("metrics/train")
        self.assertEqual(self.columns("metrics/eval")["reward_margin"].shape, (2,))
        for name in VALUES:
            self.assertEqual(len(train[name]), 6)
        self.assertLess(train["loss"][-1], train["loss"][0])
        self.assertGreater(train["std_reward"][0], 0.0)
        self.assertLess(train["min_reward"][-1], train["mean_reward"][-1])
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("<h3>Rewards</h3>", page)
        self.assertIn("per pair", page)

    def test_transformers_gives_the_rewards_of_the_training(self):
        modules = import_transformers(self)
        self.run_to(0, 2, config=self.CONFIG)
        run = self.run_folder("reward")
        folder = run / "ckpt" / "last"
        rows = [json.loads(line) for line in PAIRS.read_text().splitlines()]
        texts = [row["prompt"] + row[name] for row in rows for name in ("chosen", "rejected")]
        expected = rewards_of_transformers(*modules, folder, texts)
        margins = [c - r for c, r in zip(expected[::2], expected[1::2])]
        with h5py.File(run / "results.h5") as file:
            evaluated = {name: file[f"metrics/eval/{name}"][-1] for name in VALUES}
            accuracy = file["metrics/eval/accuracy"][-1]
        self.assertAlmostEqual(evaluated["reward_margin"], sum(margins) / len(rows), delta=1e-4)
        self.assertAlmostEqual(evaluated["max_reward"], max(expected), delta=1e-4)
        self.assertAlmostEqual(accuracy, sum(m > 0 for m in margins) / len(rows), delta=1e-9)
        summary = json.loads((run / "summary.json").read_text())
        shown = page_numbers.result_of("docs/reward.md", "pair accuracy")
        self.assertEqual(pages.shape(summary["result"]), pages.shape(shown))
        for mine, other in zip(page_numbers.numbers(summary["result"]),
                               page_numbers.numbers(shown), strict=True):
            self.assertAlmostEqual(mine, other, delta=page_numbers.LOSS)


@unittest.skipIf(h5py is None, "h5py is not installed")
class RewardModel(program.ProgramTest):
    TEMPLATE = "{% for m in messages %}{{ m.role }} {{ m.content }}{{ eos_token }}{% endfor %}"

    def setUp(self):
        super().setUp()
        self.policy = tiny_lm.make_folder(self.folder / "policy")
        self.prompts = tiny_lm.write_rows(self.folder / "prompts.jsonl", tiny_lm.mixed_rows(9))

    def reward_model(self, family, **options):
        options = {"goldens": tiny_lm.CLASSIFIERS, "template": self.TEMPLATE} | options
        return tiny_lm.make_folder(self.folder / family, family, **options)

    def keys(self, model, *more):
        return (f"model.path={self.policy}", f"data.path={self.prompts}",
                "generate.max_new_tokens=5", "generate.num_samples=2", "run.chunk_size=2",
                "reward.functions={model: 2, length: 1}", "reward.length=10",
                f"reward.model={model}", *more)

    def judge(self, ranks, model, *more, code=0):
        return self.run_to(code, ranks, *self.keys(model, *more),
                           config=program.HERE / "generate.yaml")

    def samples(self):
        with h5py.File(self.run_folder() / "results.h5") as file:
            return {name: file[f"samples/{name}"][:]
                    for name in ("reward", "reward_model", "reward_length")}

    def rows(self):
        folder = self.run_folder()
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]

    def expected(self, torch, transformers, folder):
        """Returns the rewards by transformers of the newest run, with the template of the folder."""
        inputs = [json.loads(line) for line in self.prompts.read_text().splitlines()]
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=torch.float32).eval()
        rewards = []
        for row in self.rows():
            messages = inputs[row["prompt_index"]].get("messages")
            if messages:
                messages = [*messages, {"role": "assistant", "content": row["output"]}]
                text = tokenizer.apply_chat_template(messages, tokenize=False)
                ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            else:
                ids = tokenizer(row["prompt"] + row["output"])["input_ids"]
                ids += [tokenizer.eos_token_id] * (ids[-1] != tokenizer.eos_token_id)
            with torch.no_grad():
                rewards.append(model(input_ids=torch.tensor([ids])).logits[0, 0].item())
        return rewards

    def test_completions_get_the_rewards_of_transformers_on_any_number_of_ranks(self):
        modules = import_transformers(self)
        model = self.reward_model("llama")
        self.judge(1, model)
        one = (self.run_folder() / "results.h5").read_bytes()
        samples = self.samples()
        for mine, other in zip(samples["reward_model"], self.expected(*modules, model),
                               strict=True):
            self.assertAlmostEqual(mine, other, delta=2e-4)
        self.assertEqual(samples["reward"].tolist(),
                         (2 * samples["reward_model"] + samples["reward_length"]).tolist())
        self.judge(2, model)
        self.assertEqual((self.run_folder() / "results.h5").read_bytes(), one)
        ended = self.judge(4, model, "devices.gpus_per_model=2")
        self.assertIn("; reward ", ended.out)
        self.assertEqual((self.run_folder() / "results.h5").read_bytes(), one)

    def test_other_families_give_the_rewards_of_transformers(self):
        modules = import_transformers(self)
        for family in ("gpt2", "mistral", "mistral_no_padding"):
            model = self.reward_model(family)
            self.judge(1, model)
            for mine, other in zip(self.samples()["reward_model"], self.expected(*modules, model),
                                   strict=True):
                self.assertAlmostEqual(mine, other, delta=2e-4)

    def test_folders_that_are_no_reward_models_are_refused_before_any_work(self):
        two = self.reward_model("llama")
        weights = (two / "model.safetensors").read_bytes()
        wider = weights.replace(b'"shape":[1,32]', b'"shape":[2,16]')
        self.assertEqual((wider.count(b'"shape":[2,16]'), len(wider)), (1, len(weights)))
        (two / "model.safetensors").write_bytes(wider)
        cases = [(self.policy, 65, "the folder is no reward model: it has no score.weight"),
                 (self.folder / "nothing", 66, "there is no such folder"),
                 (self.reward_model("gpt_oss", goldens=tiny_lm.GOLDENS), 65,
                  "a reward model of family `gpt_oss` is not supported"),
                 (self.reward_model("qwen2"), 65, "error[E702]: the tokenizer has 68 tokens"),
                 (self.reward_model("qwen3", tokenizer=False), 65,
                  "the reward model's folder has no tokenizer"),
                 (two, 65, "the model has 2 outputs, and a reward is one number")]
        jobs = [self.start(2, *self.keys(model), config=program.HERE / "generate.yaml")
                for model, *_ in cases]
        for (model, code, words), job in zip(cases, jobs, strict=True):
            ended = job.wait()
            self.assertEqual(ended.code, code, ended.out + ended.err)
            self.assertIn(words, ended.err)
            self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        self.assertIsNone(self.run_folder())

    def test_recipe_reward_names_families_that_it_does_not_train(self):
        model = self.reward_model("gpt_oss", goldens=tiny_lm.GOLDENS)
        ended = self.run_to(65, 1, "--check", "model.init=null", f"model.path={model}",
                            config=program.TOP / "conf/train/reward.yaml")
        self.assertIn("recipe reward does not train a model of family `gpt_oss`",
                      ended.out + ended.err)

    def test_a_plan_needs_no_weights_of_the_reward_model(self):
        model = self.reward_model("llama")
        (model / "model.safetensors").unlink()
        self.assertIn("reward model", self.judge(1, model, "--plan").out)
        self.assertIn("the folder has no weights", self.judge(1, model, code=66).err)

    def test_messages_need_a_template_and_long_rows_get_no_score(self):
        model = self.reward_model("gpt2", template=None)
        ended = self.judge(1, model, code=65)
        self.assertIn(":2: it has messages, but the folder of the reward model has no chat template",
                      ended.err)
        tiny_lm.write_rows(self.prompts, [{"prompt": "short"}, {"prompt": "a long prompt " * 4}])
        self.judge(1, model)
        rewards = self.samples()["reward_model"].tolist()
        self.assertEqual([reward == reward for reward in rewards], [True, True, False, False])

    def test_another_reward_model_is_another_run(self):
        model = self.reward_model("llama")
        self.judge(1, model)
        first = self.samples()["reward_model"].tolist()
        shutil.copy(tiny_lm.CLASSIFIERS / "mistral/model.safetensors", model / "model.safetensors")
        weights = bytearray((model / "model.safetensors").read_bytes())
        weights[-2] ^= 0x40
        (model / "model.safetensors").write_bytes(weights)
        self.judge(1, model)
        self.assertNotEqual(self.samples()["reward_model"].tolist(), first)


if __name__ == "__main__":
    program.main()
