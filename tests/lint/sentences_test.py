"""Tests that the swept folders have no hard sentences, and that the lint would find them."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import prose
import sentence_rules
import sentences

# One planted sentence per rule, as the text of a comment. A rule without one fails the test.
PLANTED = {
    "33 words": "The writer " + "and the reader " * 10 + "wait.",
    "'behind' for 'after'": "The shard lies behind the index.",
    "'beside' for 'next to' or 'also'": "It writes a file beside the folder.",
    "'nobody', 'whoever'": "Whoever waits gets it.",
    "'as it is', 'as they are'": "The weights stay as they are.",
    "'that is there'": "It removes a file that is there.",
    "'is not there'": "It makes the folder when it is not there.",
    "'of its own'": "Each rank has a thread of its own.",
    "'what X says'": "It keeps what the teacher says.",
    "'what it is that'": "It shows what it is that fails.",
    "'there is none'": "It returns nothing when there is none.",
    "'none of it'": "The reader skips all of it.",
    "'of it'": "The file loses a part of it.",
    "'goes before', 'is to go'": "The header goes before the data.",
    "'that one's'": "It takes that one's place.",
    "'nothing:'": "The job has nothing: it waits.",
    "'of before', 'of now'": "It keeps the bytes of before.",
    "'the former', 'the latter'": "It prefers the latter.",
    "'so that none'": "It locks so that nothing moves.",
    "'likewise', 'thereof'": "The reader thus stops.",
    "'seldom', 'in vain'": "The lock is seldom taken.",
    "'otherwise than'": "The file spells it otherwise.",
    "'have come to an end'": "The run has come to its end.",
    "inverted order": "Learned are the tokens of the completion.",
    "subject clause": "What the top k leave is a class.",
    "text outside the repository": "The format follows findings.md exactly.",
    "no verb": "The ranks of all nodes of the whole world with their small and large models.",
}
PLAIN = """Returns the rows of the file. Errors: Failure E603 when it is missing.
The order of the sum depends on the segment only, so all ranks get the same bits."""


def found_in(name, text):
    """Returns all complaints about a file with this name and content."""
    path = pathlib.Path(name)
    return [(line, complaint)
            for line, kind, paragraph in prose.paragraphs(path, text)
            for sentence in sentence_rules.sentences(paragraph)
            for complaint in sentence_rules.complaints(kind, sentence)]


class Rules(unittest.TestCase):

    def test_each_finds_its_planted_sentence(self):
        for complaint, sentence in PLANTED.items():
            with self.subTest(complaint):
                self.assertIn((1, complaint), found_in("src/x.cpp", f"/// {sentence}\n"))

    def test_each_has_a_planted_sentence(self):
        names = {name for name, _ in sentence_rules.TICS} | {"33 words", "no verb"}
        self.assertEqual(names, set(PLANTED))

    def test_plain_sentences_pass(self):
        comment = "".join(f"/// {line}\n" for line in PLAIN.splitlines())
        self.assertEqual(found_in("src/x.cpp", comment), [])

    def test_thirty_words_pass(self):
        sentence = "The reader " + "and the writer " * 9 + "wait."
        self.assertEqual(sentence_rules.words(sentence), 30)
        self.assertEqual(found_in("src/x.cpp", f"// {sentence}\n"), [])

    def test_inline_code_is_one_word(self):
        self.assertEqual(sentence_rules.words("Runs `git log --oneline -- FILE` once."), 3)


class Places(unittest.TestCase):
    TIC = "The shard lies behind the index."

    def test_comments_of_every_kind_of_file(self):
        for name, text in (("src/x.hpp", f"int x;  // {self.TIC}"),
                           ("kernels/x.cu", f"/* {self.TIC} */"),
                           ("tests/x.py", f'def x():\n    """{self.TIC}"""'),
                           ("launch/x.sh", f"true  # {self.TIC}"),
                           ("CMakeLists.txt", f"# {self.TIC}"),
                           ("conf/x.yaml", f"key: 1  # {self.TIC}"),
                           ("docs/x.md", f"Some text. {self.TIC}"),
                           ("README.md", f"| a | {self.TIC} |")):
            with self.subTest(name):
                self.assertIn("'behind' for 'after'", dict(found_in(name, text)).values())

    def test_messages_of_the_program_but_not_of_tests(self):
        message = 'throw Error("the shard of this model lies " "behind the index");'
        self.assertEqual(found_in("src/x.cpp", message), [(1, "'behind' for 'after'")])
        self.assertEqual(found_in("tests/x.cpp", message), [])

    def test_a_sentence_may_span_lines(self):
        text = "int y;\n// The shard lies\n// behind the index.\n"
        self.assertEqual(found_in("src/x.cpp", text), [(2, "'behind' for 'after'")])

    def test_code_and_strings_are_no_comments(self):
        self.assertEqual(found_in("src/x.cpp", 'auto url = "http://behind"; int behind;'), [])
        self.assertEqual(found_in("docs/x.md", "```\nbehind\n```\n"), [])


class Guides(unittest.TestCase):

    def test_references_are_found_in_names_of_code_too(self):
        for text in ("// guides 000 and 002", "kGuide001", "ReadsNamesOfGuide001", "guide_003",
                     "IsTheGuidesWordForWord", "NamesOfAGuide", "test_guide_configuration",
                     "names_of_the_guide_and_parts", "words_that_guides_grep_for", "kGuide004"):
            with self.subTest(text):
                self.assertEqual([line for line, _ in sentence_rules.guides(f"int x;\n{text}\n")],
                                 [2])

    def test_the_option_of_users_and_guides_of_a_sampler_are_none(self):
        for text in ('{"padded-h5", "guide004"}', "ToyGuide guide(kGuide);", "AGuideReadsNothing",
                     '#include "toy_guide.hpp"', "[The guide for changes](docs/contributing.md)"):
            with self.subTest(text):
                self.assertEqual(list(sentence_rules.guides(text)), [])

    def test_files_of_every_kind_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            (top / "times.tsv").write_text("test_a\ntest_guide_b\n")
            (top / "program").write_bytes(b"test_guide_b\0")
            found = list(sentences.violations(top))
        self.assertEqual(found, [(pathlib.Path("times.tsv"), 2, "text outside the repository",
                                  "test_guide")])


class Repository(unittest.TestCase):

    def test_swept_folders_have_no_hard_sentences(self):
        todo = sentences.todo()
        found = [f"{path}:{line}: {complaint}: {sentence}"
                 for path, line, complaint, sentence in sentences.violations(
                     sentences.TOP, lambda path: not sentences.is_under(path, todo))]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_the_list_of_folders_to_do_names_existing_ones(self):
        missing = [place for place in sentences.todo() if not (sentences.TOP / place).exists()]
        self.assertEqual(missing, [])

    def test_the_script_names_file_line_and_sentence(self):
        folder = pathlib.Path(__file__).parent
        done = subprocess.run([sys.executable, "-B", folder / "sentences.py", "tests/support"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
