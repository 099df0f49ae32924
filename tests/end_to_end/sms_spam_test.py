"""The tiny model of conf/examples/sms_spam learns to find spam in text messages."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import program

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
        results = json.loads((folder / "summary.json").read_text())["results"]
        self.assertGreaterEqual(results["accuracy"]["value"], 0.97)
        self.assertGreaterEqual(results["f1"]["value"], 0.9)
        self.assertGreaterEqual(results["roc_auc"]["value"], 0.98)


if __name__ == "__main__":
    program.main()
