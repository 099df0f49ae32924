"""Export pt of job collect, and launch/collect_training_data.sh: files that torch.load opens."""
import collections
import hashlib
import json
import re
import sys
import unittest

import h5py
import numpy

try:
    import torch
except ImportError:
    torch = None

import program
import tiny_lm
from collect_case import CollectCase, questions
from latent_test import AGENTS, LatentCase

sys.path.insert(0, str(program.TOP / "tests/docs"))
import pages

NAME = re.compile(r"(?P<stem>[a-z_]+_\d{8}_\d{6})(?P<part>_gpu_\d+|_merged|)"
                  r"(?P<kind>\.pt|_metadata\.json)")
NODE = {"path_id", "agent_name", "agent_idx", "parent_id", "children_ids", "score", "prm_score",
        "is_leaf", "depth"}


class Exported:
    """Holds the files of a folder in `pt` and `metadata`, by part ("", "_gpu_0", "_merged")."""

    def __init__(self, folder):
        self.pt, self.metadata, stems = {}, {}, set()
        for path in folder.iterdir():
            found = NAME.fullmatch(path.name)
            assert found, path
            stems.add(found["stem"])
            if found["kind"] == ".pt":
                self.pt[found["part"]] = torch.load(path, weights_only=True)
            else:
                self.metadata[found["part"]] = json.loads(path.read_text())
        [self.stem] = stems

    def ids(self, part):
        return [question["question_id"] for question in self.pt[part]["questions"]]


def prm_data(run_folder):
    return run_folder / "prm_data"


def sha256s(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def without_tensors(question):
    return question | {"paths": [{name: value.tolist() if torch.is_tensor(value) else value
                                  for name, value in path.items()}
                                 for path in question["paths"]]}


@unittest.skipIf(torch is None, "no PyTorch")
class OfAgents(LatentCase):

    def test_parts_have_the_states_of_agents_and_contiguous_questions(self):
        self.collect(0, 2, "data.max_samples=11")
        self.run_to(0, 1, "--export", "pt", str(self.run_folder()), config=None)
        files = Exported(prm_data(self.run_folder()))
        self.assertRegex(files.stem, r"^questions_latent_mas_multipath_\d{8}_\d{6}$")
        self.assertEqual(set(files.pt), {"_gpu_0", "_gpu_1", "_merged"})
        self.assertEqual(set(files.metadata), set(files.pt))
        self.assertEqual(files.ids("_merged"), [f"q_{i}" for i in range(11)])
        self.assertEqual(files.ids("_gpu_0"), files.ids("_merged")[:6])
        self.assertEqual(files.ids("_gpu_1"), files.ids("_merged")[6:])
        merged = files.pt["_merged"]
        self.assertEqual(list(map(without_tensors, merged["questions"])),
                         [without_tensors(question) for part in ("_gpu_0", "_gpu_1")
                          for question in files.pt[part]["questions"]])
        self.check_batch(files, merged)
        for question, row in zip(merged["questions"], self.rows()):
            self.check_tree(question, row)
        self.check_states(merged["questions"])

    def check_batch(self, files, merged):
        rows = self.rows()
        self.assertEqual({name: value for name, value in merged.items() if name != "questions"},
                         {"batch_name": files.stem + "_merged", "num_questions": 11,
                          "timestamp": files.stem[-15:]})
        self.assertEqual(set(merged), set(pages.names("pt_file")))
        facts = files.metadata["_merged"]
        self.assertEqual({name for part in files.metadata.values() for name in part},
                         set(pages.names("pt_metadata")))
        self.assertEqual(facts["accuracy"], sum(row["vote_right"] for row in rows) / 11)
        self.assertEqual(facts["num_paths_total"], sum(row["n_steps"] for row in rows))
        self.assertEqual((facts["task"], facts["method"], facts["model"], facts["num_gpus"]),
                         ("questions", "latent_mas_multipath", str(self.model), 2))
        self.assertEqual(facts["gpu_metadata"],
                         [files.metadata["_gpu_0"], files.metadata["_gpu_1"]])
        self.assertEqual([(part["gpu_id"], part["data_start_idx"], part["data_end_idx"],
                           part["num_questions"]) for part in facts["gpu_metadata"]],
                         [(0, 0, 6, 6), (1, 6, 11, 5)])

    def check_tree(self, question, row):
        self.assertEqual((question["question"], question["gold_answer"], question["final_answer"],
                          question["is_correct"]),
                         (row["prompt"], row["answer"], row["vote"] or None, row["vote_right"] == 1))
        self.assertEqual(set(question), set(pages.names("pt_question")))
        tree = question["tree_structure"]
        count = row["n_steps"]
        self.assertEqual((tree["num_nodes"], tree["num_edges"], tree["max_depth"]),
                         (count, count - 4, 2))
        self.assertEqual(tree["root_ids"], [1, 2, 3, 4])
        for path, node in zip(question["paths"], tree["nodes"]):
            i = path["path_id"]
            self.assertEqual((set(path), set(node)), (set(pages.names("pt_path")), NODE))
            self.assertEqual(path["prm_score"], row["node_value"][i])
            self.assertEqual(path["score"], row["node_score"][i])
            self.assertEqual(path["agent_name"], AGENTS[row["node_agent"][i]]["name"])
            self.assertEqual(path["parent_path_id"], row["node_parent"][i] or None)
            first, end = row["child_offsets"][i:i + 2]
            self.assertEqual(path["child_path_ids"], row["children"][first:end])
            self.assertEqual(node["children_ids"], path["child_path_ids"])
            self.assertEqual(node["depth"], row["node_agent"][i])
            self.assertEqual(node["is_leaf"], first == end)
            for child in path["child_path_ids"]:
                self.assertIn([i, child], tree["edges"])
            self.assertEqual(path["metadata"]["is_correct"],
                             None if row["node_agent"][i] < 2 else row["node_value"][i] == 1)
        self.assertEqual([path["path_id"] for path in question["paths"]],
                         list(range(1, count + 1)))

    def check_states(self, merged):
        with h5py.File(self.run_folder() / "results.h5") as file:
            stored = file["arrays/samples/latents/values"][()]
        paths = [path for question in merged for path in question["paths"]]
        thought = [path for path in paths if path["latent_history"] is not None]
        self.assertTrue(all(path["num_latent_steps"] == 3 for path in thought))
        self.assertTrue(all(path["agent_idx"] == 2 and path["hidden_states"] is None
                            for path in paths if path["latent_history"] is None))
        states = torch.cat([path["latent_history"] for path in thought])
        self.assertEqual(states.dtype, torch.float16)
        numpy.testing.assert_array_equal(states.numpy(), stored.reshape(states.shape))
        for path in thought:
            self.assertTrue(torch.equal(path["hidden_states"], path["latent_history"][-1]))

    def test_baselines_have_no_states(self):
        self.collect(0, 1, "collect.agents.method=single", "collect.num_parent_paths=auto",
                     "collect.latent.steps=5", "collect.max_new_tokens=4")
        self.run_to(0, 1, "--export", "pt", str(self.run_folder()), config=None)
        files = Exported(prm_data(self.run_folder()))
        self.assertRegex(files.stem, "^questions_single_")
        for question in files.pt[""]["questions"]:
            self.assertEqual([path["agent_name"] for path in question["paths"]], ["judger"] * 4)
            self.assertEqual({path["latent_history"] for path in question["paths"]}, {None})


@unittest.skipIf(torch is None, "no PyTorch")
class OfTexts(CollectCase):

    def export_pt(self, *keys):
        self.run_to(0, 1, "--export", "pt", str(self.run_folder()), *keys, config=None)
        return Exported(prm_data(self.run_folder()))

    def test_questions_do_not_depend_on_ranks_or_parts(self):
        self.collect(0, 3)
        files = self.export_pt("collect.pt_parts=5")
        self.assertEqual([len(files.ids(f"_gpu_{i}")) for i in range(5)], [3, 3, 2, 2, 2])
        of_three = sha256s(prm_data(self.run_folder()))
        self.export_pt("collect.pt_parts=5")
        self.assertEqual(sha256s(prm_data(self.run_folder())), of_three)
        self.start_over()
        self.collect(0, 1)
        one = self.export_pt()
        self.assertEqual(set(one.pt), {""})
        self.assertRegex(one.stem, "^questions_monte_carlo_")
        self.assertEqual(one.pt[""]["questions"], files.pt["_merged"]["questions"])

    def test_steps_have_texts_and_the_most_frequent_answer_is_final(self):
        self.collect(0, 1, "data.start=3")
        files = self.export_pt()
        self.assertEqual(files.ids(""), [f"q_{i}" for i in range(3, 12)])
        rows = self.export("jsonl", "results.jsonl")
        for question, row in zip(files.pt[""]["questions"], rows):
            answers = json.loads(row["answers"])
            given = collections.Counter(answer for answer in answers if answer)
            final = given.most_common(1)[0][0] if given else None
            self.assertEqual(question["final_answer"], final)
            self.assertEqual(question["is_correct"],
                             bool(final and row["path_right"][answers.index(final)]))
            steps = json.loads(row["steps"])
            for path in question["paths"]:
                i = path["path_id"]
                texts = steps[row["node_path"][i]]
                self.assertEqual(path["metadata"]["text"], texts[row["node_step"][i] - 1])
                self.assertEqual(path["agent_idx"], row["node_step"][i] - 1)
                self.assertEqual((path["agent_name"], path["score"]), ("step", None))
                self.assertEqual(path["metadata"]["mc_leaf_mean"],
                                 row["node_right"][i] / row["node_visits"][i])
        self.assertEqual(files.metadata[""]["accuracy"],
                         sum(q["is_correct"] for q in files.pt[""]["questions"]) / 9)

    def test_questions_that_could_not_be_used_are_left_out(self):
        rows = questions(6)
        del rows[1]["answer"]
        tiny_lm.write_rows(self.questions, rows)
        self.collect(0, 1, "data.on_bad_row=mark", "output.max_failed=0.5")
        files = self.export_pt("collect.pt_parts=8")  # more than there are questions
        self.assertEqual(files.ids("_merged"), ["q_0", "q_2", "q_3", "q_4", "q_5"])
        self.assertEqual((files.ids("_gpu_1"), files.ids("_gpu_7")), ([], []))
        self.assertEqual(files.metadata["_gpu_7"]["accuracy"], None)
        self.assertEqual(files.metadata["_merged"]["num_left_out"], 1)

    def refuse(self, code, text, *keys, **options):
        ended = self.run_to(code, 1, "--export", "pt", str(self.run_folder()), *keys, config=None,
                            **options)
        self.assertIn(text, ended.err)
        self.assertEqual(list(self.run_folder().glob("prm_data*")), [])

    def test_failed_exports_leave_nothing(self):
        self.collect(0, 1)
        self.refuse(64, "changes what the run was made of", "data.max_samples=3")
        self.refuse(78, "collect.pt_parts", "collect.pt_parts=0")
        for call in (1, 3):
            self.refuse(74, "E602", env=program.failpoint(f"export.write:{call}:ENOSPC"))
        self.start_over()
        tiny_lm.write_rows(self.questions, [{"prompt": "a"}])
        self.collect(1, 1, "data.on_bad_row=mark")
        self.refuse(64, "the run has no solutions")


@unittest.skipIf(torch is None, "no PyTorch")
class Script(LatentCase):

    def start_script(self, *arguments, **variables):
        environment = {"MGPU_PROGRAM": self.program, "OUTPUT_DIR": str(self.folder / "data"),
                       "LOG_DIR": str(self.folder / "logs"), "ENABLE_MULTI_GPU": "true"}
        job = self.start_command(
            [program.TOP / "launch/collect_training_data.sh", *arguments,
             f"run.output={self.output}"], environment | variables)
        return job.wait(deadline_s=600)

    def test_the_script_writes_a_file_for_each_rank_and_their_union(self):
        ended = self.start_script(self.CONFIG, f"model.path={self.model}",
                                  f"data.path={self.questions}",
                                  f"collect.agents.path={self.agents}",
                                  NUM_GPUS="2", GPU_IDS="0,1", MAX_SAMPLES="10", BATCH_SIZE="1",
                                  NUM_PATHS="5")
        self.assertEqual(ended.code, 0, ended.out + ended.err)
        files = Exported(self.folder / "data")
        self.assertEqual({part: len(files.ids(part)) for part in files.pt},
                         {"_gpu_0": 5, "_gpu_1": 5, "_merged": 10})
        self.assertEqual(files.metadata["_merged"]["num_paths"], 5)
        [logs] = (self.folder / "logs").iterdir()
        self.assertEqual({path.name for path in logs.iterdir()},
                         {f"orchestrator_{logs.name}.log", "gpu_0_stdout.log", "gpu_0_stderr.log",
                          "gpu_1_stdout.log", "gpu_1_stderr.log"})

    def test_configurations_of_the_script_collect_their_questions(self):
        model = self.output / "chains/latest/ckpt/last"
        train = program.TOP / "conf/collect/arithmetic/train.yaml"
        self.run_to(0, 2, "train.max_steps=40", config=train)
        for name, ranks, count in (("smoke", 2, 10), ("full", 4, 1000)):
            config = program.TOP / f"conf/collect/multi_gpu/{name}.yaml"
            ended = self.start_script(config, f"model.path={model}", NUM_GPUS=str(ranks),
                                      GPU_IDS=",".join(map(str, range(ranks))),
                                      OUTPUT_DIR=str(self.folder / name))
            self.assertEqual(ended.code, 0, ended.out + ended.err)
            files = Exported(self.folder / name)
            self.assertEqual(len(files.pt), ranks + 1)
            self.assertEqual(files.ids("_merged"), [f"q_{i}" for i in range(count)])


if __name__ == "__main__":
    program.main()
