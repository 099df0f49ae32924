"""The tiny model of conf/examples/sms_spam learns to find spam in text messages."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import program

try:
    import h5py
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages

CONF = program.TOP / "conf/examples/sms_spam"
DATA = pathlib.Path(os.environ.get(
    "MGPU_SMS_SPAM", program.TOP.parent / "shared" / "data" / "sms_spam" / "sms.tsv"))


class SmsSpam(program.ProgramTest):

    def test_a_tiny_model_finds_spam(self):
        if not DATA.is_file():
            self.skipTest(f"no SMS Spam Collection here: MGPU_SMS_SPAM, or {DATA}, is no file")
        conf = self.folder / "conf/examples/sms_spam"
        shutil.copytree(CONF, conf)
        made = subprocess.run([sys.executable, "-B", str(conf / "prepare.py"), str(DATA),
                               str(self.folder / "data" / "sms_spam")],
                              check=True, capture_output=True, text=True)
        self.assertIn("held_out.jsonl: 1034 rows", made.stdout)
        for name in ("train", "classify"):
            job = self.start(2, f"run.output={self.folder / 'outputs'}",
                             config=conf / f"{name}.yaml")
            ended = job.wait(deadline_s=300)  # two idle cores need 20 s and 3 s
            self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])
        folder = self.folder / "outputs" / "sms_spam_labels" / "latest"
        summary = json.loads((folder / "summary.json").read_text())
        results = summary["results"]
        self.assertGreaterEqual(results["accuracy"]["value"], 0.97)
        self.assertGreaterEqual(results["f1"]["value"], 0.9)
        self.assertGreaterEqual(results["roc_auc"]["value"], 0.98)
        self.expect_result_of_pages(summary["result"])
        if h5py is not None:
            self.expect_counts_of_page(folder)

    def expect_result_of_pages(self, result):
        shown = page_numbers.result_of("docs/classify.md", "mean F1")
        self.assertEqual(pages.shape(result), pages.shape(shown))
        self.assertIn(f"`{shown.partition('; mean F1')[0]}`",
                      " ".join((program.TOP / "README.md").read_text().split()))
        texts, *shares, _ = page_numbers.numbers(shown)  # the last number is a speed
        mine = page_numbers.numbers(result)
        self.assertEqual(mine[0], texts)
        for share, other in zip(shares, mine[1:]):
            if share != 1:  # of F1
                self.assertAlmostEqual(share, other, delta=page_numbers.SHARES)

    def expect_counts_of_page(self, folder):
        shown = page_numbers.counts_of(
            r"finds (\d+) of (\d+) ham messages and (\d+) of (\d+) spam", "docs/classify.md")
        with h5py.File(folder / "results.h5") as file:
            given = file["confusion/given"][:]
        self.assertEqual([shown[1], shown[3]], given.sum(1).tolist())
        for label, right in enumerate((shown[0], shown[2])):
            self.assertAlmostEqual(right, given[label, label],
                                   delta=page_numbers.SHARES * given.sum())


if __name__ == "__main__":
    program.main()
