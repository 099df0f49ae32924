"""Compares runs on emulated GPUs: backends nccl (its stand-in) and staged with backend mpi."""
import hashlib
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

import program
import tiny_lm

LM_TRAIN = f"""
schema: 1
job: train
run: {{name: tiny}}
model: {{init: {program.SMALL_LM}}}
train: {{seq_len: 64, global_batch_size: 8, lanes: 2, max_steps: 4, learning_rate: 3e-3,
        warmup_steps: 2}}
"""
CALLS = re.compile(r"cudaemu: \d+ calls of nccl (\w+)")
CALLS_OF = {"pipeline": ["send", "receive"], "tensor": ["all_reduce"]}
GPUS = {"nccl": {"CUDAEMU_DEVICES": "4"}, "staged": {}}  # staged: the ranks share one


class OnGpus(program.ProgramTest):
    program = os.environ["MGPU_EMULATED"]

    def config(self, text):
        path = self.folder / "config.yaml"
        path.write_text(text)
        return path

    def run_on(self, backend, *arguments, ranks, calls, env=None, **options):
        """Runs with this backend, and returns the run directory. Expects `calls` of NCCL with
        backend nccl, and none with the others."""
        output = self.folder / backend
        ended = self.run_to(0, ranks, *arguments, f"devices.backend={backend}",
                            f"run.output={output}", **options,
                            env=GPUS.get(backend, {}) | {"CUDAEMU_COUNT": "1"} | (env or {}))
        made = set(CALLS.findall(ended.err))
        self.assertLessEqual(set(calls) if backend == "nccl" else set(), made)
        self.assertEqual(bool(made), backend == "nccl")
        return max((output / "tiny").glob("2*"))

    def compare(self, *arguments, names, backends=("nccl", "staged"), ranks=2, **options):
        """Expects that the files `names` of a run are equal with all backends and with mpi."""
        hashes = {}
        for backend in ("mpi", *backends):
            run = self.run_on(backend, *arguments, ranks=ranks, **options)
            hashes[backend] = {name: hashlib.sha256((run / name).read_bytes()).hexdigest()
                               for name in names}
        for backend in backends:
            self.assertEqual(hashes[backend], hashes["mpi"], backend)


class Training(OnGpus):

    def test_two_gpus_learn_the_same_from_histories(self):
        for mode, calls in (("layout", ["group"]), ("false", ["all_reduce"])):
            with self.subTest(mode):
                self.compare(f"run.deterministic={mode}", names=program.GOLDEN_FILES, calls=calls)

    def test_two_gpus_learn_the_same_language_model(self):
        self.compare("data.synthetic_texts=100", names=["ckpt/last/model.safetensors"],
                     calls=["all_reduce", "destroy"], config=self.config(LM_TRAIN))


class Inference(OnGpus):

    def test_groups_of_gpus_generate_the_same(self):
        """A pipeline uses two communicators of a GPU in two threads."""
        rows = [{"token_ids": [1] + [(13 * j + 7 * i) % 67 for j in range(2 + 3 * i)]}
                for i in range(7)]
        data = tiny_lm.write_rows(self.folder / "ids.jsonl", rows)
        for parallel, family, ranks in (
                ("pipeline", "gpt_oss", 3), ("tensor", "llama", 2)):
            with self.subTest(parallel):
                model = tiny_lm.make_folder(self.folder / family, family, tokenizer=False)
                self.compare(f"model.path={model}", f"data.path={data}", "output.text=false",
                             f"model.parallel={parallel}", f"devices.gpus_per_model={ranks}",
                             calls=CALLS_OF[parallel], names=["results.h5"], backends=["nccl"], ranks=ranks,
                             config=program.HERE / "generate.yaml",
                             env={"CUDA_DEVICE_MAX_CONNECTIONS": "1"})


class Failures(OnGpus):

    def fails(self, env, code, *sentences):
        """Expects that the run ends with 76 after one message, which has `code` and `sentences`."""
        ended = self.run_to(76, 2, "devices.backend=nccl", "watchdog.enabled=false",
                            "comm.timeout_s=4", env=GPUS["nccl"] | env)
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        self.assertIn(f"error[{code}]", ended.err)
        for sentence in sentences:
            self.assertIn(sentence, ended.err)

    def test_nccl_that_fails_ends_the_run_with_one_message(self):
        for rules, code, sentence in (
                ("init@1=error", "E403", "NCCL says unhandled system error"),
                ("init@1=never", "E402", "was not finished within 4 s"),
                ("group.3@1=never peers=silent", "E402", "was not finished within 4 s"),
                ("group.3@1=async_error peers=silent", "E403", "NCCL says unhandled system error"),
                ("group.3@1=error", "E403", "NCCL says unhandled system error")):
            with self.subTest(rules):
                self.fails({"CUDAEMU_NCCL": rules}, code, sentence)

    def test_a_rank_that_does_not_come_to_nccl_is_named(self):
        """The stopped rank continues when mpirun ends it, and must then print nothing."""
        self.fails(program.failpoint("train.pass@1:5:stop"), "E402", "rank 1 (", "did not come")

    def test_an_abort_of_nccl_that_hangs_does_not_hang_the_run(self):
        self.fails({"CUDAEMU_NCCL": "group.3=never abort=hang peers=silent"}, "E402",
                   "was not finished within 4 s")


if __name__ == "__main__":
    program.main()
