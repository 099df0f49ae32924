"""Defines the runs by which two programs are compared: jobs, ranks, and interruptions."""
import dataclasses
import functools
import json
import pathlib
import sys

END_TO_END = pathlib.Path(__file__).resolve().parent.parent / "end_to_end"
sys.path.insert(0, str(END_TO_END))

import classify_test  # noqa: E402
import collect_case  # noqa: E402
import distillation_test  # noqa: E402
import experiment_test  # noqa: E402
import generate_case  # noqa: E402
import language_training_test  # noqa: E402
import latent_test  # noqa: E402
import planted_trees  # noqa: E402
import prm_case  # noqa: E402
import program  # noqa: E402
import recipe_case  # noqa: E402
import teacher_case  # noqa: E402
import tiny_lm  # noqa: E402
import value_case  # noqa: E402

PIPELINE = ("devices.gpus_per_model=2",)
TENSOR = ("devices.gpus_per_model=2", "model.parallel=tensor")
SOFT_STOP = "train.pass@0:5:sleep"  # the signal arrives while it sleeps
KILL = "ledger.write:3:kill"
KILL_BEFORE_SEAL = "results.write:1:kill"
NO_LAYOUT = ("run.deterministic=false",)


@dataclasses.dataclass(frozen=True)
class Case:
    """One run folder that both programs make."""
    name: str
    keys: tuple = ()
    ranks: int = 1
    quick: bool = False
    break_off: str = ""  # failpoint at which the run is stopped or killed before it resumes
    merges: bool = False  # --merge finishes it instead of a second start
    parts: int = 0  # number of runs with --only, whose results --merge combines
    exports: tuple = ()

    @property
    def job(self):
        return self.name.partition(".")[0]


CASES = (
    Case("ad.1", NO_LAYOUT, exports=("jsonl",)),
    Case("ad.2", NO_LAYOUT, ranks=2),
    Case("ad.layout", ranks=2, quick=True),
    Case("ad.transition", ("model.tokens=transition", "train.mixed_precision=bf16"), ranks=2),
    Case("ad.stopped", ranks=2, break_off=SOFT_STOP),
    Case("ad.merged", break_off=KILL_BEFORE_SEAL, merges=True),
    Case("sft.1", NO_LAYOUT),
    Case("sft.2", NO_LAYOUT, ranks=2),
    Case("sft.layout", ranks=2, quick=True),
    Case("sft.bf16", ("train.mixed_precision=bf16", "train.gradient_checkpointing=true"), ranks=2),
    Case("sft.stopped", ranks=2, break_off=SOFT_STOP),
    Case("distill.1", NO_LAYOUT),
    Case("distill.2", NO_LAYOUT, ranks=2),
    Case("distill.layout", ranks=2, quick=True),
    Case("distill.stopped", ranks=2, break_off=SOFT_STOP),
    Case("distill.beside", ranks=2),
    Case("distill.own", ranks=2),
    Case("generate.1", exports=("jsonl",)),
    Case("generate.2", ranks=2),
    Case("generate.greedy", generate_case.GREEDY),
    Case("generate.scores", ("generate.max_new_tokens=0",)),
    Case("generate.bf16", ("model.dtype=bfloat16",)),
    Case("generate.experts"),
    Case("generate.bf16_cache", ("generate.kv_cache_dtype=bfloat16",)),
    Case("generate.guided", ranks=2),
    Case("generate.search", ("generate.search=best_of_n", "reward.functions=[regex]",
                             "reward.regex=e", "generate.num_samples=4"), ranks=2),
    Case("generate.beams", ("generate.search=beam", "generate.reward.beam_width=2",
                            "generate.num_samples=4"), ranks=2),
    Case("generate.first_greedy", ("generate.first_greedy=true", "generate.num_samples=3",
                                   "reward.functions=[regex]", "reward.regex=e"), ranks=2,
         exports=("pairs",)),
    Case("generate.reference", ranks=2),
    Case("generate.pipeline", PIPELINE, ranks=2, quick=True),
    Case("generate.tensor", TENSOR, ranks=2),
    Case("generate.killed", ranks=2, break_off=KILL, quick=True),
    Case("generate.parts", parts=2),
    Case("teacher.1", exports=("jsonl", "guide004")),
    Case("teacher.2", ranks=2),
    Case("teacher.packed", ("teacher.store=packed",)),
    # The file's top_k has no meaning here, and its default counts as not given.
    Case("teacher.draws", ("teacher.targets=random_sampling", "teacher.num_draws=9",
                           "teacher.top_k=64")),
    Case("teacher.pipeline", PIPELINE, ranks=2),
    Case("teacher.tensor", TENSOR, ranks=2, quick=True),
    Case("teacher.killed", ranks=2, break_off=KILL),
    Case("teacher.merged", break_off=KILL_BEFORE_SEAL, merges=True),
    Case("teacher.parts", parts=2),
    Case("classify.1", exports=("jsonl", "csv")),
    Case("classify.2", ranks=2),
    Case("classify.answers", ("classify.score=generate", "classify.strategy=grouped",
                              "classify.on_unparsed=retry"), exports=("csv",)),
    Case("classify.pipeline", PIPELINE, ranks=2),
    Case("classify.tensor", TENSOR, ranks=2),
    Case("classify.killed", ranks=2, break_off=KILL),
    Case("classify.parts", parts=2, quick=True),
    Case("collect.1", exports=("jsonl", "trl")),
    Case("collect.2", ranks=2, quick=True),
    Case("collect.searches", ("collect.label=omega_prm",), ranks=2),
    Case("collect.agents", ranks=2, exports=("pt",)),
    Case("collect.agents_in_texts", ("collect.agents.method=text_mas", "collect.latent.steps=5",
                                     "collect.num_parent_paths=auto"), ranks=2),
    Case("collect.pipeline", PIPELINE, ranks=2),
    Case("collect.tensor", TENSOR, ranks=2),
    Case("collect.killed", ranks=2, break_off=KILL),
    Case("collect.parts", parts=2),
    Case("experiment.1"),
    Case("experiment.2", ranks=2),
    Case("experiment.killed", ranks=2, break_off=KILL),
    Case("dpo.1", NO_LAYOUT),
    Case("dpo.layout", ranks=2, quick=True),
    Case("dpo.stopped", ranks=2, break_off=SOFT_STOP),
    Case("kto.1", NO_LAYOUT),
    Case("kto.layout", ranks=2, quick=True),
    Case("kto.stopped", ranks=2, break_off=SOFT_STOP),
    Case("grpo.1", NO_LAYOUT),
    Case("grpo.layout", ranks=2, quick=True),
    Case("grpo.several", ("grpo.num_iterations=2", "grpo.beta=0.05", "grpo.top_p=0.95"), ranks=2),
    Case("grpo.stopped", ranks=2, break_off=SOFT_STOP),
    Case("reward.1", NO_LAYOUT),
    Case("reward.layout", ranks=2, quick=True),
    Case("reward.stopped", ranks=2, break_off=SOFT_STOP),
    Case("value.1", NO_LAYOUT),
    Case("value.layout", ranks=2, quick=True),
    Case("value.stopped", ranks=2, break_off=SOFT_STOP),
    Case("prm.1", NO_LAYOUT),
    Case("prm.layout", ranks=2, quick=True),
    Case("prm.latents", ranks=2),
    Case("prm.stopped", ("train.max_steps=12",), ranks=2, break_off=SOFT_STOP),
)
EXAMPLES = program.TOP / "conf/examples"
RECIPES = {"dpo": "pairs", "kto": "judged", "grpo": "", "reward": "pairs", "value": "pairs"}
JOBS = tuple(dict.fromkeys(case.job for case in CASES))


class Fixtures:
    """Makes files that both programs read, once; `run_old` runs a job with the old program."""

    def __init__(self, folder, run_old):
        self._folder = folder
        self._run_old = run_old

    def config_of(self, case):
        """Returns the text of a case's configuration file."""
        texts = {"ad": program.TINY, "generate": generate_case.CONFIG,
                 "teacher": teacher_case.CONFIG, "classify": classify_test.CONFIG,
                 "collect": collect_case.CONFIG}
        if case.name.startswith("collect.agents"):
            return latent_test.LatentCase.CONFIG.read_text()
        if case.job == "experiment":
            return experiment_test.CONFIG
        if case.name == "prm.latents":
            return (END_TO_END / "latent_prm.yaml").read_text()
        if case.job == "prm":
            return prm_case.TRAIN
        if case.job in texts:
            return texts[case.job].read_text()
        if case.job in RECIPES:
            return (program.TOP / f"conf/train/{case.job}.yaml").read_text()
        return language_training_test.CONFIG if case.job == "sft" else distillation_test.TRAIN

    def keys_of(self, case):
        """Returns the keys of a case and of its input files. The case's keys override the job's."""
        makers = {"sft": self._sft_keys, "distill": self._distill_keys,
                  "generate": self._generate_keys, "teacher": self._teacher_keys,
                  "classify": self._classify_keys, "collect": self._collect_keys,
                  "experiment": self._experiment_keys, "prm": self._prm_keys,
                  **dict.fromkeys(RECIPES, self._recipe_keys)}
        given = {key.partition("=")[0] for key in case.keys}
        of_job = makers.get(case.job, lambda _: ())(case)
        return (*(key for key in of_job if key.partition("=")[0] not in given), *case.keys)

    def _sft_keys(self, _):
        return (f"data.eval_path={self._pairs}",)

    def _distill_keys(self, case):
        if case.name == "distill.beside":
            return (f"distill.model={self._teacher}", "data.synthetic_texts=200",
                    "distill.loss=jsd", "distill.temperature=2")
        if case.name == "distill.own":
            return (f"distill.model={self._teacher}", f"data.path={self._pairs}",
                    "distill.on_policy=0.5", "distill.max_new_tokens=8")
        return (f"distill.targets={self._targets}",)

    def _generate_keys(self, case):
        family = "gpt_oss" if case.name == "generate.experts" else "llama"
        prompts = self._rows("prompts", tiny_lm.mixed_rows(30))
        keys = (f"model.path={self._model(family)}", f"data.path={prompts}")
        if case.name == "generate.guided":
            keys += (f"generate.guide.path={self._value_model}",)
        if case.name == "generate.reference":
            keys += (f"generate.reference={self._model('qwen3')}",)
        if case.name in ("generate.search", "generate.beams"):
            keys += (f"generate.reward.path={self._step_judge}", "generate.reward.step_tokens=3")
        return keys

    def _teacher_keys(self, _):
        texts = self._rows("texts", teacher_case.texts(30))
        return f"model.path={self._model('llama')}", f"data.path={texts}"

    def _classify_keys(self, _):
        texts = self._rows("labels", classify_test.texts(30))
        prompts = self._folder / "prompts.json"
        prompts.write_text(json.dumps(classify_test.STRATEGIES))
        return (f"model.path={self._model('llama')}", f"data.path={texts}",
                f"classify.prompt={prompts}", "classify.strategy=short",
                "data.columns.group=target_group")

    def _collect_keys(self, case):
        questions = self._rows("questions", collect_case.questions(12))
        keys = (f"model.path={self._model('llama')}", f"data.path={questions}")
        if case.name.startswith("collect.agents"):
            agents = self._folder / "agents.json"
            agents.write_text(json.dumps({"agents": latent_test.AGENTS}))
            keys += (f"collect.agents.path={agents}",)
        return keys

    def _prm_keys(self, case):
        if case and case.name == "prm.latents":
            return f"data.path={self._trees}", "run.name=tiny"
        rows = self._rows("steps", prm_case.stepwise_rows(40))
        return (f"model.path={self._model('llama')}", f"data.path={rows}",
                "run.name=tiny", "prm.step_separator=.")  # the tokenizer has no line breaks

    def _experiment_keys(self, _):
        """Writes the stages. They name each other's outputs in a folder that no run creates."""
        stages = self._folder / "stages"
        if not stages.exists():
            stages.mkdir()
            experiment_test.write_stages(stages, self._folder / "outputs", steps=4)
        return f"experiment.folder={stages}", "run.name=tiny"

    def _recipe_keys(self, case):
        if case.job == "grpo":  # a model with random weights, rewarded for the letter e
            return ("model.path=null", f"model.init={EXAMPLES}/tiny_lm/model", "run.name=tiny",
                    "train.max_steps=5", "train.global_batch_size=16",
                    "grpo.group_size=4", "grpo.max_new_tokens=6", "reward.functions=[regex]",
                    "reward.regex=e")
        rows = EXAMPLES / RECIPES[case.job]
        return ("model.path=null", *recipe_case.RecipeCase.KEYS, f"data.path={rows}/train.jsonl",
                f"data.eval_path={rows}/held_out.jsonl")

    def _rows(self, name, rows):
        path = self._folder / f"{name}.jsonl"
        return path if path.exists() else tiny_lm.write_rows(path, rows)

    def _model(self, family):
        folder = self._folder / family
        return folder if folder.exists() else tiny_lm.make_folder(folder, family)

    @functools.cached_property
    def _pairs(self):
        return self._rows("pairs", distillation_test.made_rows()[:40])

    @functools.cached_property
    def _teacher(self):
        run = self._run_old(distillation_test.TRAIN, "run.name=teacher", "data.synthetic_texts=300")
        return run / "ckpt" / "last"

    @functools.cached_property
    def _value_model(self):
        rows = self._rows("judged", value_case.judged_rows(40))
        run = self._run_old(value_case.TRAIN, f"model.path={self._model('llama')}",
                            f"data.path={rows}", "train.eval_every=0")
        return run / "ckpt" / "last"

    @functools.cached_property
    def _step_judge(self):
        run = self._run_old(prm_case.TRAIN, *self._prm_keys(None))
        return run / "ckpt" / "last"

    @functools.cached_property
    def _trees(self):
        """The results of job collect with latent states, some of whose answers are right."""
        case = next(case for case in CASES if case.name == "collect.agents")
        run = self._run_old(self.config_of(case), *self._collect_keys(case),
                            "collect.latent.store=f32")
        return planted_trees.plant_answers(run / "results.h5", self._folder / "trees.h5").path

    @functools.cached_property
    def _targets(self):
        texts = self._rows("targets", distillation_test.made_rows())
        return self._run_old(distillation_test.TEACHER, f"model.path={self._teacher}",
                             f"data.path={texts}", "teacher.top_k=8")
