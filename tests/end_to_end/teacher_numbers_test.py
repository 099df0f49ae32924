"""Tests job teacher: its numbers against a float64 forward pass of transformers, its storage
formats, and rows that are too long or cannot be used."""
import json
import math
import unittest

import program
import tiny_lm

try:
    import h5py
    import numpy
except ImportError as error:
    h5py = None
    NO_H5PY = f"no h5py here: {error}"

CONFIG = """
schema: 1
job: teacher
run: {name: tiny, chunk_size: 4}
teacher: {top_k: 8}
"""


def unpack(packed, bits, count):
    """Unpacks ids from rows of bytes, lowest bits first."""
    stream = numpy.unpackbits(packed, axis=1, bitorder="little")[:, :bits * count]
    return stream.reshape(len(packed), count, bits) @ (1 << numpy.arange(bits))


class TeacherNumbers(program.ProgramTest):

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest(NO_H5PY)
        self.config = self.folder / "teacher.yaml"
        self.config.write_text(CONFIG)
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.ids = [[1] + [(13 * j + 7 * i) % 67 for j in range(2 + 3 * i)] for i in range(7)]
        self.data = tiny_lm.write_rows(self.folder / "ids.jsonl",
                                       [{"token_ids": ids} for ids in self.ids])

    def teacher(self, *more, code=0, ranks=1, data=None):
        """Runs job teacher and returns the opened results."""
        keys = [f"model.path={self.model}", f"data.path={data or self.data}", *more]
        self.last = self.run_to(code, ranks, *keys, config=self.config)
        if code not in (0, 1):
            return None
        return h5py.File(self.run_folder() / "results.h5")

    @staticmethod
    def rows(file, name):
        """Returns the lists of a ragged column."""
        at = file[f"arrays/samples/{name}/row_offsets"][:]
        values = file[f"arrays/samples/{name}/values"][:]
        return [values[begin:end] for begin, end in zip(at, at[1:])]

    def reference(self, temperature=1.0):
        """Returns log-probabilities [tokens, vocabulary] of each row in float64."""
        try:
            import torch
            from transformers import AutoModelForCausalLM
        except ImportError as error:
            self.skipTest(f"no transformers here: {error}")
        model = AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float64).eval()
        with torch.no_grad():
            logits = [model(torch.tensor([ids])).logits[0] / temperature for ids in self.ids]
        return [row.numpy() for row in logits]

    def check_against(self, file, logits):
        for sample, expected in enumerate(logits):
            sums = numpy.log(numpy.exp(expected).sum(1))
            numpy.testing.assert_allclose(self.rows(file, "log_sum_exp")[sample], sums, atol=1e-4)
            order = numpy.argsort(-expected, axis=1, kind="stable")[:, :8]
            numpy.testing.assert_array_equal(self.rows(file, "topk_ids")[sample], order)
            best = numpy.take_along_axis(expected, order, 1) - sums[:, None]
            stored = self.rows(file, "topk_logprobs")[sample].astype("float64")
            numpy.testing.assert_allclose(stored, best, rtol=2.0**-11, atol=1e-4)
            mass = numpy.exp(best).sum(1) + self.rows(file, "tail_mass")[sample]
            numpy.testing.assert_allclose(mass, 1.0, atol=1e-4)

    def test_top_k_is_that_of_transformers_in_float64(self):
        logits = self.reference()
        self.check_against(self.teacher(), logits)

    def test_temperature_divides_the_logits(self):
        logits = self.reference(temperature=2.5)
        self.check_against(self.teacher("teacher.temperature=2.5"), logits)

    def test_packed_ids_are_the_same_ids(self):
        plain = self.teacher()
        packed = self.teacher("teacher.store=packed")
        facts = packed["teacher"].attrs
        self.assertEqual((facts["vocab_size"], facts["id_bits"]), (67, 7))
        for a, b in zip(self.rows(plain, "topk_ids"), self.rows(packed, "topk_packed")):
            self.assertEqual(b.shape[1], math.ceil(7 * 8 / 8))
            numpy.testing.assert_array_equal(a, unpack(b, 7, 8))
        for name in ("topk_logprobs", "log_sum_exp"):
            numpy.testing.assert_array_equal(plain[f"arrays/samples/{name}/values"][:],
                                             packed[f"arrays/samples/{name}/values"][:])

    def test_draws_have_the_frequencies_of_the_distribution(self):
        row = {"token_ids": self.ids[0]}
        data = tiny_lm.write_rows(self.folder / "same.jsonl", [row] * 400)
        file = self.teacher("teacher.targets=random_sampling", "teacher.top_k=64",
                            "teacher.num_draws=250", data=data)
        top = self.teacher("teacher.top_k=67", data=tiny_lm.write_rows(self.folder / "one.jsonl",
                                                                        [row]))
        draws = 400 * 250
        tokens = len(self.ids[0])
        counts = numpy.zeros((tokens, 67))
        for num, ids, count in zip(*(self.rows(file, name) for name in
                                     ("num_drawn", "drawn_ids", "drawn_counts"))):
            numpy.add.at(counts, (numpy.repeat(numpy.arange(tokens), num), ids), count)
        numpy.testing.assert_array_equal(counts.sum(1), draws)
        p = numpy.zeros((tokens, 67))
        order = self.rows(top, "topk_ids")[0].astype(int)
        numpy.put_along_axis(p, order, numpy.exp(
            self.rows(top, "topk_logprobs")[0].astype("float64")), 1)
        sigma = numpy.sqrt(p * (1 - p) / draws)
        # 200 tokens: four deviations, and the rounding of stored log-probabilities.
        self.assertLess(numpy.max(numpy.abs(counts / draws - p) - 2.0**-11 * p * 8 - 4 * sigma), 0)

    def test_packed_draws_are_the_same_draws(self):
        keys = ("teacher.targets=random_sampling", "teacher.top_k=64",
                "teacher.num_draws=20")
        plain = self.teacher(*keys)
        packed = self.teacher(*keys, "teacher.store=packed")
        for ids, counts, stream in zip(self.rows(plain, "drawn_ids"),
                                       self.rows(plain, "drawn_counts"),
                                       self.rows(packed, "drawn_packed")):
            words = unpack(stream[None, :], 7 + 5, len(ids))[0]
            numpy.testing.assert_array_equal(words & 127, ids)
            numpy.testing.assert_array_equal(words >> 7, counts)

    def test_long_rows_are_cut_left_out_or_refused(self):
        cut = self.teacher("data.max_length=8")
        lengths = [len(ids) for ids in self.ids]
        numpy.testing.assert_array_equal(cut["samples/n_tokens"], [min(8, n) for n in lengths])
        numpy.testing.assert_array_equal(cut["samples/all_tokens"], lengths)
        numpy.testing.assert_array_equal(cut["samples/status"], [int(n > 8) for n in lengths])
        left = self.teacher("data.max_length=8", "data.too_long=drop")
        numpy.testing.assert_array_equal(left["samples/n_tokens"],
                                         [n if n <= 8 else 0 for n in lengths])
        self.assertIn("samples: too_long", self.last.err + self.last.out)
        self.teacher("data.max_length=8", "data.too_long=error", code=65)
        self.assertIn("9 tokens, data.max_length is 8", self.last.err)

    def test_bad_rows_stop_the_run_or_are_marked(self):
        rows = [{"token_ids": [1, 2]}, {"token_ids": [1, 99]}, {"text": "cat"}]
        data = tiny_lm.write_rows(self.folder / "bad.jsonl", rows)
        self.teacher(data=data, code=65)
        self.assertIn("bad.jsonl:2", self.last.err)
        file = self.teacher("data.on_bad_row=mark", data=data, code=1)
        numpy.testing.assert_array_equal(file["samples/status"], [0, 3, 0])
        self.assertIn("vocabulary of 67", bytes(self.rows(file, "reason")[1]).decode())

    def test_prompt_and_completion_tell_what_is_learned(self):
        rows = [{"prompt": "the cat", "completion": " sat"},
                {"messages": [{"role": "user", "content": "hi"},
                              {"role": "assistant", "content": "yes"}]}]
        file = self.teacher(data=tiny_lm.write_rows(self.folder / "sft.jsonl", rows))
        learned = self.rows(file, "is_learned")
        self.assertEqual(learned[0].tolist(), [0] * 8 + [1] * 5)  # <s>, 7 letters | 4 and </s>
        self.assertEqual(int(learned[1].sum()), len("yes."))

    def test_padded_export(self):
        for store, name in (("fp16", "padded-h5"), ("packed", "guide004")):  # its former name
            file = self.teacher(f"teacher.store={store}")
            folder = self.run_folder()
            self.run_to(0, 1, "--export", name, str(folder), config=None)
            facts = json.loads((folder / "metadata.json").read_text())
            self.assertEqual([facts[key] for key in
                              ("num_samples", "max_seq_length", "top_k", "vocab_size")],
                             [7, 21, 8, 67])
            with h5py.File(folder / "teacher_logits.h5") as padded:
                self.assertEqual(padded["logits_values"].shape, (7, 21, 8))
                self.assertEqual(padded["logits_values"].chunks, (1, 21, 8))
                numpy.testing.assert_array_equal(padded["seq_lengths"],
                                                 [len(ids) for ids in self.ids])
                for sample, tokens in enumerate(padded["seq_lengths"]):
                    logits = padded["logits_values"][sample].astype("float64")
                    self.assertFalse(logits[tokens:].any())
                    sums = self.rows(file, "log_sum_exp")[sample][:, None]
                    expected = self.rows(file, "topk_logprobs")[sample].astype("float64") + sums
                    numpy.testing.assert_allclose(logits[:tokens], expected, rtol=2.0**-10,
                                                  atol=1e-5)

    def test_an_unknown_export_format_is_refused_with_those_that_there_are(self):
        self.teacher()
        for name, help_line in (("jsonI", "did you mean `jsonl`?"),
                                ("xlsx", "one of: jsonl, padded-h5")):
            ended = self.run_to(64, 1, "--export", name, str(self.run_folder()), config=None)
            self.assertIn(f"job teacher has no export format `{name}`", ended.err)
            self.assertIn(help_line, ended.err)


if __name__ == "__main__":
    program.main()
