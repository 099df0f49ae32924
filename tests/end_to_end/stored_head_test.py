"""Tests a model whose config.json ties the head while its folder stores another one. All jobs use
the stored head, as transformers does, and say so. The reference are the goldens of transformers in
tests/lm/goldens/llama_stored_head."""
import json
import math
import struct

import program
import tiny_lm

NOTE = "the stored head is used"
TRAIN = """
schema: 1
job: train
run: {name: tiny}
train: {seq_len: 16, global_batch_size: 2, max_steps: 1, learning_rate: 1e-6}
"""


def read_tensors(path):
    """Returns {name: (shape, numbers)} of a file of int64 and float64 tensors."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, values = json.loads(data[8:8 + size]), data[8 + size:]
    header.pop("__metadata__", None)
    return {name: (entry["shape"], [number for number, in struct.iter_unpack(
        {"I64": "<q", "F64": "<d"}[entry["dtype"]], values[slice(*entry["data_offsets"])])])
        for name, entry in header.items()}


def log_probabilities(golden, prompt):
    """Returns the log-probabilities of the tokens of a prompt after its first."""
    ids, (shape, logits) = golden[f"{prompt}.ids"][1], golden[f"{prompt}.logits"]
    rows = [logits[at:at + shape[1]] for at in range(0, len(logits), shape[1])]
    return [row[following] - math.log(sum(map(math.exp, row)))
            for row, following in zip(rows, ids[1:])]


class StoredHead(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.model = tiny_lm.make_folder(self.folder / "model", "llama_stored_head")

    def test_jobs_use_it_and_say_so(self):
        golden = read_tensors(tiny_lm.GOLDENS / "llama_stored_head" / "golden.safetensors")
        prompts = ("short", "long")
        data = tiny_lm.write_rows(self.folder / "ids.jsonl",
                                  [{"token_ids": golden[f"{name}.ids"][1]} for name in prompts])
        for ranks, keys in ((1, ()), (2, ("model.parallel=tensor", "--gpus-per-model=2"))):
            ended = self.run_to(0, ranks, f"model.path={self.model}", f"data.path={data}",
                                "run.resume=never", "generate.max_new_tokens=1", *keys,
                                config=program.HERE / "generate.yaml")
            self.run_to(0, 1, "--export", "jsonl", str(self.run_folder()), config=None)
            lines = (self.run_folder() / "results.jsonl").read_text().splitlines()
            rows = {row["prompt_index"]: row["prompt_log_probs"] for row in map(json.loads, lines)}
            for index, name in enumerate(prompts):
                for ours, theirs in zip(rows[index][1:], log_probabilities(golden, name),
                                        strict=True):
                    self.assertAlmostEqual(ours, theirs, delta=1e-4)
            self.assertEqual(ended.out.count(NOTE), 1, ended.out)

    def test_teacher_and_classify_say_so(self):
        texts = tiny_lm.write_rows(self.folder / "texts.jsonl",
                                   [{"text": "the cat sat", "label": "normal"}])
        for job in ("teacher", "classify"):
            ended = self.run_to(0, 1, f"model.path={self.model}", f"data.path={texts}",
                                config=program.HERE / f"{job}.yaml")
            self.assertEqual(ended.out.count(NOTE), 1, ended.out)

    def test_checkpoints_have_it_and_agree_with_their_config(self):
        config = self.folder / "train.yaml"
        config.write_text(TRAIN)
        rows = [{"text": f"the cat saw {n} dogs run"} for n in range(8)]
        data = f"data.path={tiny_lm.write_rows(self.folder / 'texts.jsonl', rows)}"
        ended = self.run_to(0, 1, f"model.path={self.model}", f"distill.model={self.model}", data,
                            config=config)
        self.assertEqual(ended.out.count(NOTE), 2, ended.out)  # of student and teacher
        checkpoint = self.run_folder() / "ckpt" / "last"
        self.assertIs(json.loads((checkpoint / "config.json").read_text())["tie_word_embeddings"],
                      False)
        self.assertIn(b'"lm_head.weight"', (checkpoint / "model.safetensors").read_bytes())
        # A training from new weights uses config.json alone.
        ended = self.run_to(0, 1, f"model.init={self.model}", data, "run.resume=never",
                            config=config)
        self.assertNotIn(NOTE, ended.out)
        checkpoint = self.run_folder() / "ckpt" / "last"
        self.assertIs(json.loads((checkpoint / "config.json").read_text())["tie_word_embeddings"],
                      True)
        self.assertNotIn(b'"lm_head.weight"', (checkpoint / "model.safetensors").read_bytes())


if __name__ == "__main__":
    program.main()
