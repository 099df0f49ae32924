"""The runs that the pages are about, made once for all their tests. MGPU_PROGRAM is the program."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from pages import TOP

PROGRAM = os.environ["MGPU_PROGRAM"]
EXAMPLES = TOP / "conf/examples/tiny_lm"
TEXTS = EXAMPLES / "texts.jsonl"
MODEL = "model.path=outputs/tiny_lm/latest/ckpt/last"
TEACHER = f"conf/teacher/tiny_lm.yaml {MODEL}"
DRAWS = f"job=teacher {MODEL} data.path={TEXTS} teacher.targets=random_sampling"
CLASSIFY = f"job=classify {MODEL} data.path=rows.jsonl classify.labels=[ham,spam]"
# The runs that the pages and the tables of formats.md are about. `sft` makes the model of the rest.
RUNS = {
    "sft": ("tiny_lm", f"conf/train/tiny_lm.yaml train.max_steps=2 train.warmup_steps=1 "
                       f"data.synthetic_texts=300 data.eval_path={TEXTS} train.eval_every=1"),
    "ad": ("quickstart", "conf/train/quickstart.yaml train.max_steps=2 train.warmup_steps=1 "
                         "train.eval_every=1 data.streams=2 evaluate.runs=1"),
    "dpo": ("dpo", "conf/train/dpo.yaml train.max_steps=2 train.warmup_steps=1 "
                   "train.eval_every=1 data.max_samples=16"),
    "grpo": ("grpo", "conf/train/grpo.yaml model.path=null train.max_steps=2 "
                     f"train.warmup_steps=1 model.init={EXAMPLES}/model"),
    "kto": ("kto", "conf/train/kto.yaml train.max_steps=2 train.warmup_steps=1 "
                   "train.eval_every=1 data.max_samples=16"),
    "reward": ("reward", "conf/train/reward.yaml train.max_steps=2 train.warmup_steps=1 "
                         "train.eval_every=1 data.max_samples=16"),
    "value": ("value", "conf/train/value.yaml train.max_steps=2 train.warmup_steps=1 "
                       "train.eval_every=1 data.max_samples=16"),
    "prm": ("prm", f"job=train {MODEL} train.recipe=prm data.path=steps.jsonl train.max_steps=2 "
                   "train.warmup_steps=1 train.seq_len=64 train.global_batch_size=2 "
                   "prm.held_out=0.5 train.eval_every=1"),
    "generate": ("generate", f"conf/generate/tiny_lm.yaml {MODEL} generate.max_new_tokens=4"),
    "evaluation": ("evaluation", f"job=generate {MODEL} data.dataset=arithmetic "
                                 "data.arithmetic.rows=[8,2,6] generate.num_samples=4 "
                                 "generate.max_new_tokens=4 reward.functions=[match] "
                                 "generate.reference=outputs/tiny_lm/latest/ckpt/last"),
    "teacher": ("teacher", TEACHER),
    "packed": ("packed", f"{TEACHER} teacher.store=packed data.max_length=8 -v"),
    "draws": ("draws", DRAWS),
    "packed_draws": ("packed_draws", f"{DRAWS} teacher.store=packed"),
    "part_0": ("part_0", f"{TEACHER} run.chunk_size=32 --only 0/2"),
    "part_1": ("part_1", f"{TEACHER} run.chunk_size=32 --only 1/2"),
    "classify": ("sms_spam_labels", f"{CLASSIFY} output.keep_columns=[]"),
    "experiment": ("experiment", "job=experiment experiment.folder=stages "
                                 "experiment.algorithms=[labels]"),
    "collect": ("chain_steps", f"job=collect {MODEL} data.dataset=arithmetic output.keep_columns=[] "
                           "data.arithmetic.rows=[8,2,6] collect.num_paths=2 collect.rollouts=2 "
                           "collect.max_new_tokens=8 collect.split=tokens collect.step_tokens=3"),
    "latent": ("agents", f"job=collect {MODEL} data.dataset=arithmetic output.keep_columns=[] "
                         "data.arithmetic.rows=[8,2,6] collect.steps=latent collect.num_paths=2 "
                         "collect.latent.steps=2 collect.max_new_tokens=4 "
                         "collect.latent.branch_entropy=2 collect.latent.merge_similarity=0.9"),
    "answers": ("answers", f"{CLASSIFY} classify.score=generate generate.max_new_tokens=2"),
}
# Exports of copies of these runs.
EXPORTS = [("teacher", "padded-h5"), ("classify", "csv"), ("generate", "jsonl")]
# Runs that read results of others: of `prm`, and the exported rows of `generate`.
LATER = {
    "search": ("search", f"job=generate {MODEL} data.dataset=arithmetic "
                         "data.arithmetic.rows=[8,2,6] generate.num_samples=2 "
                         "generate.max_new_tokens=4 generate.search=weighted_vote "
                         "generate.reward.path=outputs/prm/latest/ckpt/last"),
    "roll_in": ("roll_in", f"job=generate {MODEL} data.path=copy_of_generate/results.jsonl "
                           "data.columns.token_ids=prompt_ids data.columns.completion_ids=output_ids "
                           "generate.roll_in=random generate.num_samples=8 "
                           "generate.max_new_tokens=8 reward.functions=[regex] reward.regex=e"),
}


class PageRuns(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        rows = [{"text": f"text {i}", "label": ["ham", "spam"][i % 2], "group": "a"}
                for i in range(4)]
        (cls.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        steps = [{"prompt": f"{i} + 1 =", "completions": [f"{i} + 1 = {i}", "end"],
                  "labels": [i % 2, 1 - i % 2]} for i in range(8)]
        (cls.folder / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in steps))
        (cls.folder / "empty.yaml").write_text("schema: 1\n")
        (cls.folder / "stages").mkdir()
        (cls.folder / "stages/labels.yaml").write_text(
            f"schema: 1\ninclude: [{TOP}/conf/teacher/tiny_lm.yaml]\n"
            f"model: {{path: {cls.folder}/outputs/tiny_lm/latest/ckpt/last}}\n")
        first, *others = RUNS.values()
        cls.begin(first)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(cls.begin, others))
            for run, _ in EXPORTS:
                shutil.copytree(cls.run_folder(run), cls.copy_of(run), dirs_exist_ok=True)
            list(pool.map(cls.export, EXPORTS))
            list(pool.map(cls.begin, LATER.values()))
        shutil.copytree(cls.run_folder("roll_in"), cls.copy_of("roll_in"), dirs_exist_ok=True)
        cls.export(("roll_in", "pairs"))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def begin(cls, run):
        name, arguments = run
        words = arguments.split()
        if words[0].endswith(".yaml"):
            words[0] = str(TOP / words[0])
        else:
            words.insert(0, "empty.yaml")
        quiet = [] if "-v" in words else ["-q"]
        cls.call(*words, f"run.name={name}", "run.output=outputs", *quiet)

    @classmethod
    def export(cls, of):
        run, form = of
        cls.call("--export", form, str(cls.copy_of(run)))

    @classmethod
    def call(cls, *arguments):
        ended = subprocess.run([PROGRAM, *arguments], cwd=cls.folder, capture_output=True,
                               text=True, timeout=120, check=False)
        if ended.returncode != 0:
            raise AssertionError(f"{arguments}: exit {ended.returncode}\n{ended.stderr[-2000:]}")
        return ended.stdout

    @classmethod
    def run_folder(cls, run):
        return (cls.folder / "outputs" / (RUNS | LATER)[run][0] / "latest").resolve()

    @classmethod
    def copy_of(cls, run):
        return cls.folder / f"copy_of_{run}"

    def all_runs(self):
        return [self.run_folder(run) for run in RUNS | LATER]

    def results(self):
        return [run / "results.h5" for run in self.all_runs()]
