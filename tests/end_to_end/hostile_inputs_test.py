"""Inputs that once crashed the program, hung it, or passed unnoticed: each is refused by name, within
seconds, and leaves no run directory."""
import json
import os
import shutil
import subprocess

import h5py

from generate_case import CONFIG, GenerateCase
import program
import tiny_lm


def places_of_values(path, *columns):
    """Returns where the values of columns begin in an HDF5 file."""
    places = {}

    def visit(name, item):
        if name.endswith(tuple(f"/{column}/values" for column in columns)):
            places[name] = item.id.get_offset()

    with h5py.File(path) as file:
        file.visititems(visit)
    assert len(places) == len(columns), places
    return places


def flip(content):
    content[-1] ^= 0x40
    return content


class Hostile(GenerateCase):

    def expect_refused(self, code, words, *more, ranks=2):
        """Starts job generate. Expects that it fails with one message and leaves no folder."""
        ended = self.generate(code, ranks, *more)
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        for word in words:
            self.assertIn(word, ended.err)
        self.assertFalse(self.output.exists(), list(self.output.rglob("*")))

    def set_in(self, folder, name, **members):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | members))

    def test_a_chat_template_that_calls_itself(self):
        self.set_in(self.model, "tokenizer_config.json", chat_template=(
            "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"))
        for ranks in (1, 3):
            self.expect_refused(65, ["E547", "nested more than 100 deep"], ranks=ranks)
        checked = self.run_program(1, *self.keys("--check"), config=CONFIG)
        self.assertEqual(checked.code, 65, checked.out + checked.err)

    def test_a_chat_template_that_is_too_deep_or_never_ends(self):
        for jinja, word in (("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested operations"),
                            ("{% for i in range(1000000000) %}{% endfor %}", "a list of more than"),
                            ("{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}"
                             "{% endfor %}", "1000000 steps")):
            path = self.folder / "hostile.jinja"
            path.write_text(jinja)
            self.expect_refused(65, [word], f"data.chat_template={path}")

    def test_a_chat_template_says_why_it_refuses_a_row(self):
        self.set_in(self.model, "tokenizer_config.json", chat_template=(
            "{{ raise_exception('roles must alternate') }}"))
        self.expect_refused(65, ["E531", "a conversation: ", "roles must alternate"])

    def test_an_absurd_configuration(self):
        self.set_in(self.model, "config.json", num_hidden_layers=1_000_000_000)
        self.expect_refused(65, ["E702", "`num_hidden_layers`", "from 1 to 1024"])

    def test_bad_data(self):
        empty = self.folder / "empty.jsonl"
        empty.write_text("")
        self.expect_refused(65, [], f"data.path={empty}")
        (self.model / "tokenizer.json").write_text("{")
        self.expect_refused(65, ["tokenizer.json"])

    def test_a_run_that_is_refused_does_not_become_the_latest(self):
        self.generate(0, 1)
        good = self.run_folder()
        empty = self.folder / "empty.jsonl"
        empty.write_text("")
        self.generate(65, 1, f"data.path={empty}")
        self.assertEqual((good.parent / "latest").resolve(), good.resolve())
        self.assertEqual(self.num_runs(), 1)

    def test_arguments_of_any_length(self):
        letters = "x" * 100_000
        self.expect_refused(64, ["E143", "argument"], f"run.name={letters}", ranks=1)
        self.expect_refused(64, ["E143", "argument"], f"--output={letters}", ranks=1)
        self.expect_refused(78, ["run.name"], f"run.name={letters[:300]}", ranks=1)

    def test_paths_with_variables(self):
        home = {"HOME": str(self.folder), "DATA_ROOT": str(self.folder)}
        self.generate(0, 1, "data.path=${DATA_ROOT}/prompts.jsonl", "run.output=~/outputs",
                      env=home)
        self.assertTrue(self.output.exists())
        self.assertFalse((self.folder / "~").exists())

    def test_a_prompt_of_gigabytes_is_not_read(self):
        path = self.folder / "prompt.txt"
        path.touch()
        os.truncate(path, 3 << 30)
        rows = tiny_lm.write_rows(self.folder / "rows.jsonl", [{"text": "a", "label": "hate"}])
        ended = self.run_to(65, 1, *self.keys(f"data.path={rows}", f"classify.prompt={path}"),
                            config=program.HERE / "classify.yaml")
        self.assertIn("a file is larger than the 16777216 bytes that it may have", ended.err)

    def test_pipes_and_devices_are_not_read(self):
        pipe = self.folder / "pipe.jinja"
        os.mkfifo(pipe)
        self.expect_refused(66, ["pipe.jinja", "not a regular file"], f"data.chat_template={pipe}")
        self.expect_refused(66, ["this is not a regular file: /dev/null"], "data.path=/dev/null")
        ended = self.run_program(1, config=pipe)
        self.assertEqual(ended.code, 66, ended.err)
        self.assertIn("no process writes into this pipe", ended.err)

    def test_pipes_in_a_run_directory(self):
        self.generate(137, 1, env=program.failpoint("ledger.write:3:kill"))
        stopped = self.run_folder()
        for name, code, word in (
                ("attempts/0001.died", 0, ""), ("attempts/0001.json", 0, ""),
                ("lease.json", 0, ""), ("working/attempt_0001.rank_0000", 0, ""),
                ("quarantine.jsonl", 66, "not a regular file"),
                ("parts/attempt_0001.rank_0007.ledger", 66, "not a regular file"),
                ("events.jsonl", 73, "cannot create the events")):
            with self.subTest(name):
                copy = self.folder / name.replace("/", ".")
                shutil.copytree(stopped, copy)
                (copy / name).unlink(missing_ok=True)
                (copy / name).parent.mkdir(exist_ok=True)
                os.mkfifo(copy / name)
                ended = self.generate(code, 1, f"--resume={copy}")
                self.assertIn(word, ended.err)

    def test_a_link_to_itself_in_a_run_directory(self):
        self.generate(137, 1, env=program.failpoint("ledger.write:3:kill"))
        stopped = self.run_folder()
        (stopped / "quarantine.jsonl").symlink_to(stopped / "quarantine.jsonl")
        ended = self.generate(66, 1, f"--resume={stopped}")
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        self.assertIn("quarantine.jsonl", ended.err)

    def test_damaged_results(self):
        self.generate(0, 1)
        path = self.run_folder() / "results.h5"
        content = bytearray(path.read_bytes())
        content[content.index(b"cat sat")] ^= 1  # the text of a prompt
        path.write_bytes(content)
        ended = self.run_program(1, "--export", "jsonl", self.run_folder(), config=None)
        self.assertEqual(ended.code, 80, ended.out + ended.err)
        self.assertIn("E604", ended.err)
        # Where mgpu_inspect is missing, the program inspects files itself.
        inspection = subprocess.run([program.PROGRAM, "--inspect-file", path], check=False,
                                    stdout=subprocess.PIPE, text=True)
        self.assertEqual(inspection.returncode, 80)
        self.assertTrue(inspection.stdout.lstrip("\0").startswith("E604"), inspection.stdout)


class DamagedModel(GenerateCase):
    """A checkpoint of this program as model.path."""

    def setUp(self):
        super().setUp()
        texts = tiny_lm.write_rows(self.folder / "texts.jsonl",
                                   [{"text": "the cat sat on a mat"}] * 8)
        config = self.folder / "sft.yaml"
        config.write_text(
            "schema: 1\njob: train\nrun: {name: sft}\n"
            f"model: {{path: {self.model}}}\ndata: {{path: {texts}}}\n"
            "train: {seq_len: 16, global_batch_size: 2, max_steps: 2, warmup_steps: 1}\n")
        self.run_to(0, 1, f"run.output={self.folder / 'made'}", config=config)
        self.config = config
        self.made = self.folder / "made" / "sft" / "latest" / "ckpt" / "last"

    def damaged(self, name, change):
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.made, copy)
        path = copy / name
        path.write_bytes(change(bytearray(path.read_bytes())))
        return copy

    def test_as_a_teacher_is_found_by_its_manifest(self):
        good = self.damaged("config.json", bytes)
        self.run_to(0, 1, f"distill.model={good}", config=self.config)
        shutil.rmtree(self.output)
        ended = self.run_to(80, 2, f"distill.model={self.damaged('model.safetensors', flip)}",
                            config=self.config)
        self.assertIn("E611", ended.err)
        self.assertFalse(self.output.exists())

    def test_is_found_by_its_manifest(self):
        self.generate(0, 2, f"model.path={self.damaged('config.json', bytes)}")
        shutil.rmtree(self.output)
        for name, change, words in (
                ("model.safetensors", flip, ["E611", "CRC-32C expected"]),
                ("config.json", lambda content: content + b" ", ["E611", "config.json"]),
                ("MANIFEST.json", flip, ["E611", "MANIFEST.json"])):
            with self.subTest(name):
                folder = self.damaged(name, change)
                ended = self.generate(80, 2, f"model.path={folder}")
                for word in words:
                    self.assertIn(word, ended.err)
                self.assertFalse(self.output.exists())
        (folder / "MANIFEST.json").unlink()
        self.generate(0, 2, f"model.path={folder}")


class DamagedTargets(GenerateCase):
    """Targets of job teacher with a column in which one bit is wrong."""

    TRAIN = ("schema: 1\njob: train\nrun: {name: student}\n"
             "train: {seq_len: 64, global_batch_size: 2, max_steps: 1, warmup_steps: 1}\n")

    def test_are_found_by_their_checksums(self):
        texts = tiny_lm.write_rows(self.folder / "texts.jsonl",
                                   [{"text": "the cat sat on a mat"}] * 8)
        made = self.folder / "made"
        self.run_to(0, 1, *self.keys(f"data.path={texts}", f"run.output={made}"),
                    config=program.HERE / "teacher.yaml")
        targets = made / "tiny" / "latest"
        path = targets / "results.h5"
        good = path.read_bytes()
        places = places_of_values(path, "token_ids", "is_learned")
        config = self.folder / "student.yaml"
        config.write_text(self.TRAIN)
        for name, place in places.items():
            with self.subTest(name):
                path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1:])
                ended = self.run_to(80, 1, f"model.path={self.model}", f"distill.targets={targets}",
                                    config=config)
                self.assertEqual(ended.err.count("error[E"), 1, ended.err)
                self.assertIn("E604", ended.err)


if __name__ == "__main__":
    program.main()
