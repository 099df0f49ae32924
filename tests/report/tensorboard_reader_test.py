"""Reads the event files of tensorboard_reader_test.cpp with TensorBoard's own reader."""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2


def expect(what, got, expected):
    if got != expected:
        sys.exit(f"{what}: got {got!r}, expected {expected!r}")


runs = EventAccumulator(sys.argv[1], purge_orphaned_data=True)
runs.Reload()
tags = runs.Tags()
expect("scalar tags", sorted(tags["scalars"]),
       ["eval/return", "perf/steps_per_second", "train/loss"])
expect("tensor tags", sorted(tags["tensors"]),
       ["_hparams_/session_end_info", "_hparams_/session_start_info", "config",
        "custom_scalars__config__"])

# Steps 6 to 9 of the first file are orphans: the second one resumed at 6.
loss = [(event.step, event.value) for event in runs.Scalars("train/loss")]
expect("loss steps", [step for step, _ in loss], [0, 1, 2, 3, 4, 5, 6, 7])
for step, value in loss:
    expected = 2.0 if step >= 6 else 1.0 / (step + 1)
    if abs(value - expected) > 1e-7:
        sys.exit(f"loss at {step}: {value}, expected {expected}")
expect("text", runs.Tensors("config")[0].tensor_proto.string_val[0], b"    job: train")


def hparams_of(tag):
    content = runs.SummaryMetadata(tag).plugin_data.content
    return plugin_data_pb2.HParamsPluginData.FromString(content)


start = hparams_of("_hparams_/session_start_info").session_start_info
expect("group", start.group_name, "train_ad")
expect("hparams", sorted(start.hparams),
       ["data.permuted", "train.learning_rate", "train.lr_schedule"])
expect("learning rate", start.hparams["train.learning_rate"].number_value, 3e-4)
expect("schedule", start.hparams["train.lr_schedule"].string_value, "cosine")
expect("flag", start.hparams["data.permuted"].WhichOneof("kind"), "bool_value")
expect("end", hparams_of("_hparams_/session_end_info").session_end_info.status, 1)

layout = layout_pb2.Layout.FromString(runs.Tensors("custom_scalars__config__")[0]
                                      .tensor_proto.string_val[0])
expect("charts", [chart.title for chart in layout.category[0].chart],
       ["loss", "throughput", "memory of all ranks (GiB)", "waiting"])
expect("chart tags", list(layout.category[0].chart[0].multiline.tag), ["train/loss"])
