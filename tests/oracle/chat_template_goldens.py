"""Makes goldens of chat templates from transformers with its configuration of jinja2.

  python3 tests/oracle/chat_template_goldens.py tests/text SHIPPED           # writes chats.json
  python3 tests/oracle/chat_template_goldens.py tests/text SHIPPED --check   # compares

Made with transformers 5.23.0 and jinja2 3.1.6. The templates are those of
tests/text/chat_templates and of SHIPPED, the folder models/templates of the llama.cpp in
llama-cpp-python 0.3.36 (.deps/llama.cpp/models/templates). It writes the first 8 bytes of the
text's SHA-256 for each template and conversation, without and with a generation prompt; "" if
Python refuses it.
"""
import datetime
import hashlib
import json
import os
import pathlib
import sys
import time

os.environ["TZ"] = "UTC"
time.tzset()

from transformers.utils import chat_template_utils

NOW = 1_700_000_000
TOKENS = dict(bos_token="<s>", eos_token="</s>")


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(NOW)


def chat(*messages):
    return [dict(role=role, content=content) for role, content in messages]


CONVERSATIONS = [
    chat(("user", "Hello")),
    chat(("system", "You are terse."), ("user", "What is 2 + 2?")),
    chat(("user", "a"), ("assistant", "b"), ("user", "c")),
    chat(("system", "S"), ("user", "a\nb\n---\nc"), ("assistant", "  padded\t"), ("user", " x\n")),
    chat(("user", "<|im_end|> {{ 7*7 }} {% if %} <b>&\"'</b> \\n [/INST]")),
    chat(("user", "größe 你好 🦙 e\u0301 \u00a0"), ("assistant", "<think>\nhm\n</think>\n\nok"),
         ("user", "")),
    chat(("assistant", "\u3000first\x1c"), ("user", "second")),
    chat(("user", "one"), ("user", "two")),
    chat(("user", "q"), ("assistant", "done")),
    chat(("narrator", "Once upon a time"), ("system", "late"), ("user", "and then?")),
]


def outcome(template, conversation, add_generation_prompt):
    try:
        text = chat_template_utils.render_jinja_template(
            [conversation], chat_template=template, add_generation_prompt=add_generation_prompt,
            **TOKENS)[0][0]
    except Exception:
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def outcomes(folder):
    return {path.stem: [[outcome(path.read_text(), conversation, add) for add in (False, True)]
                        for conversation in CONVERSATIONS]
            for path in sorted(folder.glob("*.jinja"))}


def main():
    chat_template_utils.datetime = Clock
    target, shipped = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    made = dict(now=NOW, special_tokens=TOKENS, conversations=CONVERSATIONS,
                templates=outcomes(target / "chat_templates"), shipped=outcomes(shipped))
    text = json.dumps(made, indent=1) + "\n"
    if "--check" not in sys.argv:
        (target / "chats.json").write_text(text)
    elif (target / "chats.json").read_text() != text:
        sys.exit("transformers answers otherwise than chats.json says")


main()
