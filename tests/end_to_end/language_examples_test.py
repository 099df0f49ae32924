"""The examples of the pages with a tiny language model, as a user runs them."""
import json
import re
import sys

import program

sys.path.insert(0, str(program.TOP / "tests/docs"))
import pages

CONF = program.TOP / "conf"


def rows_of_page():
    """Returns {prompt: output} of the table in docs/train.md."""
    text = (program.TOP / "docs/train.md").read_text()
    table = re.search(r"\| prompt \| output \|\n\|[-|]+\n((?:\|.*\n)+)", text)[1]
    return dict(pages.CODE.findall(row) for row in table.splitlines())


class LanguageExamples(program.ProgramTest):

    def train_and_generate(self):
        job = self.start(2, config=CONF / "train/tiny_lm.yaml")
        ended = job.wait(deadline_s=570)  # two idle cores need a minute
        self.assertEqual(ended.code, 0, ended.err[-2000:])
        self.model = f"model.path={self.output / 'tiny_lm/latest/ckpt/last'}"
        self.run_to(0, 2, self.model, config=CONF / "generate/tiny_lm.yaml")
        run = self.run_folder("generate")
        self.run_to(0, 1, "--export", "jsonl", str(run), config=None)
        return [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]

    def test_the_tiny_model_completes_prompts_as_the_pages_show(self):
        completions = {}
        for row in self.train_and_generate():
            completions.setdefault(row["prompt"], set()).add(row["output"])
        shown = rows_of_page()
        self.assertEqual(len(shown), 4)
        readme = (program.TOP / "README.md").read_text()
        for prompt in ("12 + 7 =", "Write mouse backwards:"):
            self.assertIn(f"`{prompt}` with `{shown[prompt]}`", " ".join(readme.split()))
        # Texts with one right answer are learned on any processor; a story may differ.
        *answers, (story, text) = shown.items()
        for prompt, output in answers:
            self.assertIn(output, completions[prompt])
        for output in (*completions[story], text):
            self.assertRegex(output, r"^ .* (\w+ the \w+)\. "
                                     r"(Who was Zoe\? A brave hen|Where was it\? It was \1)\.$")


if __name__ == "__main__":
    program.main()
