#!/usr/bin/env python3
"""Makes the files of conf/examples/sms_spam from the SMS Spam Collection (UCI 228, CC BY 4.0).

    conf/examples/sms_spam/prepare.py SMS.tsv FOLDER

SMS.tsv has a label (ham or spam), a tab and a message in each line. Messages that come twice are
left out; of the others every fifth is held out. FOLDER gets train.jsonl for job train and
held_out.jsonl for job classify.
"""
import json
import pathlib
import sys

PROMPT = "Message: {}\nThis is"


def read_messages(path):
    messages = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        label, _, text = line.partition("\t")
        if label not in ("ham", "spam") or not text:
            raise SystemExit(f"not a line of the SMS Spam Collection: {line[:60]!r}")
        messages.setdefault(text, label)
    return list(messages.items())


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
                    encoding="utf-8")
    print(f"wrote {path}: {len(rows)} rows")


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    source, folder = map(pathlib.Path, sys.argv[1:])
    messages = read_messages(source)
    folder.mkdir(parents=True, exist_ok=True)
    training = [row for i, row in enumerate(messages) if i % 5 != 4]
    held_out = [row for i, row in enumerate(messages) if i % 5 == 4]
    write_rows(folder / "train.jsonl",
               [{"prompt": PROMPT.format(text), "completion": " " + label}
                for text, label in training])
    write_rows(folder / "held_out.jsonl",
               [{"text": text, "label": label, "source_dataset": "sms_spam"}
                for text, label in held_out])


if __name__ == "__main__":
    main()
