#include <algorithm>
#include <array>

#include <mgpu/app/cli.hpp>

namespace mgpu::app {
namespace {

using enum OptionKind;

constexpr std::string_view kChoose = "choose";
constexpr std::string_view kFirst = "look first";
constexpr std::string_view kAfter = "look afterwards";
constexpr std::string_view kOutput = "output";
constexpr std::string_view kHelp = "help";

constexpr auto kRows = std::to_array<OptionRow>({
    {.name = "set",
     .letter = 0,
     .kind = value,
     .argument = "KEY=VALUE",
     .group = kChoose,
     .text = "change one key, as KEY=VALUE alone does (repeatable)"},
    {.name = "with",
     .letter = 0,
     .kind = value,
     .argument = "FILE.yaml",
     .group = kChoose,
     .text = "lay another file over the config (repeatable)"},
    {.name = "gpus",
     .letter = 0,
     .kind = value,
     .argument = "LIST|all",
     .key = "devices.gpus",
     .group = kChoose,
     .text = "GPUs of each node, e.g. 1,3,5,7 or 0-3"},
    {.name = "gpus-per-model",
     .letter = 0,
     .kind = value,
     .argument = "N",
     .key = "devices.gpus_per_model",
     .group = kChoose,
     .text = "ranks that share one copy of the model"},
    {.name = "name",
     .letter = 0,
     .kind = value,
     .argument = "NAME",
     .key = "run.name",
     .group = kChoose,
     .text = "the run goes to outputs/NAME/STAMP"},
    {.name = "output",
     .letter = 0,
     .kind = value,
     .argument = "DIR",
     .key = "run.output",
     .group = kChoose,
     .text = "instead of outputs"},
    {.name = "resume",
     .letter = 0,
     .kind = optional_value,
     .argument = "auto|never|DIR",
     .implicit = "auto",
     .key = "run.resume",
     .group = kChoose,
     .text = "auto: the newest unfinished run of this config"},
    {.name = "time-limit",
     .letter = 0,
     .kind = value,
     .argument = "T",
     .key = "run.time_limit",
     .group = kChoose,
     .text = "stop softly before T, e.g. 30min (Slurm's is read by itself)"},
    {.name = "only",
     .letter = 0,
     .kind = value,
     .argument = "I/N",
     .group = kChoose,
     .text = "only part I of N (from 0) of the samples, or of an experiment's cells"},
    {.name = "select",
     .letter = 0,
     .kind = value,
     .argument = "NAME=VALUE,...",
     .group = kChoose,
     .text = "only these cells of an experiment, e.g. algorithm=pita,round=0"},
    {.name = "check",
     .letter = 0,
     .kind = flag,
     .argument = "",
     .group = kFirst,
     .text = "is everything right? Runs nothing"},
    {.name = "plan",
     .letter = 0,
     .kind = optional_value,
     .argument = "text|json",
     .choices = "text|json",
     .implicit = "text",
     .group = kFirst,
     .text = "who does what, will it fit, how long"},
    {.name = "print-config",
     .letter = 0,
     .kind = optional_value,
     .argument = "FORM",
     .choices = "changed|resolved|full|json|markdown",
     .implicit = "resolved",
     .group = kFirst,
     .text = "the config as understood: changed, resolved, full or json"},
    {.name = "explain",
     .letter = 0,
     .kind = value,
     .argument = "KEY|CODE",
     .group = kFirst,
     .text = "a key (train.max_steps) or an error (E101)"},
    {.name = "env",
     .letter = 0,
     .kind = flag,
     .argument = "",
     .group = kFirst,
     .text = "versions and machine, to paste into an issue"},
    {.name = "merge",
     .letter = 0,
     .kind = value,
     .argument = "DIR ...",
     .group = kAfter,
     .text = "result file of an unfinished run, or of the runs of all parts"},
    {.name = "export",
     .letter = 0,
     .kind = value,
     .argument = "FORMAT DIR",
     .group = kAfter,
     .text = "rows of results.h5: jsonl, or a format of the run's job"},
    {.name = "compare",
     .letter = 0,
     .kind = value,
     .argument = "DIR DIR",
     .group = kAfter,
     .text = "metrics of two runs on the same prompts, with intervals"},
    {.name = "progress",
     .letter = 0,
     .kind = value,
     .argument = "MODE",
     .choices = "auto|bar|lines|off",
     .group = kOutput,
     .text = "auto, bar, lines or off"},
    {.name = "color",
     .letter = 0,
     .kind = value,
     .argument = "WHEN",
     .choices = "auto|always|never",
     .group = kOutput,
     .text = "auto (on a terminal only), always or never"},
    {.name = "quiet",
     .letter = 'q',
     .kind = flag,
     .argument = "",
     .group = kOutput,
     .text = "only the result, the run's folder and one line on success"},
    {.name = "verbose",
     .letter = 'v',
     .kind = flag,
     .argument = "",
     .group = kOutput,
     .text = "more lines; with --version, of every library"},
    {.name = "json",
     .letter = 0,
     .kind = flag,
     .argument = "",
     .group = kOutput,
     .text = "events as JSON lines on standard output"},
    {.name = "help",
     .letter = 'h',
     .kind = flag,
     .argument = "",
     .group = kHelp,
     .text = "this page"},
    {.name = "version",
     .letter = 0,
     .kind = flag,
     .argument = "",
     .group = kHelp,
     .text = "version of the program"},
});

constexpr std::string_view kHead =
    R"(mgpu_spmd - one program, many GPUs: make data, train, evaluate

usage: mpirun -np N ./mgpu_spmd CONF.yaml [KEY=VALUE ...] [options]
       ./mgpu_spmd CONF.yaml --check       before you queue: is everything right?
       ./mgpu_spmd CONF.yaml --plan        who does what, will it fit, how long
       sbatch slurm/multi_node.sbatch CONF.yaml [KEY=VALUE ...]

examples
  mpirun -np 2 ./mgpu_spmd conf/train/quickstart.yaml
  mpirun -np 8 ./mgpu_spmd conf/train/train_ad.yaml train.mixed_precision=bf16
  mpirun -np 4 ./mgpu_spmd conf/train/train_ad.yaml --gpus 1,3,5,7 --resume
  mpirun -np 2 ./mgpu_spmd conf/generate/tiny_lm.yaml model.path=FOLDER data.path=prompts.jsonl
  ./mgpu_spmd conf/train/train_ad.yaml train.max_steps=100 --print-config=changed
)";

/// Returns the names and the argument of an option as --help shows them: "  -q, --quiet" or
/// "  --gpus LIST|all".
std::string usage_of(const OptionRow& row) {
  std::string usage = row.letter == 0 ? "  " : std::string("  -") + row.letter + ", ";
  usage += "--" + std::string(row.name);
  if (row.kind == value) usage += " " + std::string(row.argument);
  if (row.kind == optional_value) usage += "[=" + std::string(row.argument) + "]";
  return usage;
}

}  // namespace

std::span<const OptionRow> option_rows() {
  return kRows;
}

const OptionRow* find_row(std::string_view name) {
  const auto rows = option_rows();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const OptionRow& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::string help_text() {
  constexpr std::size_t kTextColumn = 30;
  std::string text(kHead);
  std::string_view group;
  for (const OptionRow& row : kRows) {
    if (row.group != group) text += "\n" + std::string(row.group) + "\n";
    group = row.group;
    std::string line = usage_of(row);
    line += std::string(line.size() < kTextColumn - 1 ? kTextColumn - line.size() : 2, ' ');
    text += line + std::string(row.text) + "\n";
  }
  return text;
}

}  // namespace mgpu::app
