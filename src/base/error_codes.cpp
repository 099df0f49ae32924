#include <algorithm>
#include <array>
#include <cctype>

#include <mgpu/base/error_codes.hpp>

namespace mgpu {
namespace {

constexpr auto kPages = std::to_array<ErrorPage>({
    {"E101", "unknown key",
     "A name in the configuration is not in the table of keys, so nothing would read it.",
     "Take the name that is suggested, or find the right one with --print-config=full or --explain "
     "KEY."},
    {"E102", "key at the wrong level",
     "The key exists, but the program reads it in another section.",
     "Move it to the section that the help line names. Sections are nested in a file and joined by "
     "dots on the command line."},
    {"E103", "key given twice",
     "One file (or the command line) gives the same key two values, perhaps once under an alias. "
     "The program takes neither silently.",
     "Delete one of the two. A file that overrides another (--with) and KEY=VALUE on the command "
     "line may repeat keys."},
    {"E104", "value of the wrong type",
     "The value does not have the type of the key. Types are strict: 0x10, 1e3, 010 and \"8\" are "
     "not integers, and yes is not a flag.",
     "Write the value as the caret line says. --explain KEY shows what a key takes."},
    {"E105", "not one of the choices",
     "The key takes one of a few words, and the value is a different one.",
     "Take one of the listed words."},
    {"E106", "value out of range",
     "The value has the right type, but is too small, too large, or not finite.",
     "Take a value inside the bounds that are shown."},
    {"E107", "value that breaks a rule",
     "The value is valid by itself, but conflicts with another key or breaks a rule of its module.",
     "The sentence names the rule; change one of the keys that it names."},
    {"E108", "not well-formed YAML",
     "The text cannot be parsed: for example a tab as indentation, an open quote or bracket, a "
     "line outside any section, or an empty file.",
     "Correct the line under the caret; the cause may be one line above."},
    {"E109", "part of YAML that is not read",
     "The reader refuses anchors, aliases, tags, directives, several documents, ${...}, and more "
     "than 1 MiB, 100,000 values or 32 levels.",
     "Write values out. Share them between files with include: or --with."},
    {"E110", "bytes that are not text", "The file is not UTF-8, or has control characters in it.",
     "Save the file as UTF-8 without control characters."},
    {"E111", "name of another program",
     "The key has the name that transformers, accelerate, axolotl, TRL or vLLM use. Meanings "
     "differ, so it is not translated silently.",
     "Write the name that the help line gives, and check its meaning with --explain KEY."},
    {"E112", "unknown schema",
     "`schema` names a version of the file format that this program does not read.",
     "Use a newer program, or write the file for the version that is shown."},
    {"E113", "include that does not work",
     "A file below `include` cannot be read, or files include each other in a circle.",
     "Paths in `include` are relative to the folder of the file that contains them."},
    {"E114", "required key missing", "A key without a default is not set.",
     "Add the line that the help shows."},
    {"E121", "ranks and models do not fit",
     "The ranks cannot be split into groups of devices.gpus_per_model.",
     "Take one of the numbers in the help line, or start another number of ranks."},
    {"E122", "lanes that do not fit",
     "train.lanes has to be a power of two and to divide the global batch, and in layout mode the "
     "ranks have to divide it.",
     "Take the value of the help line. train.lanes=16 suits 1, 2, 4, 8 and 16 ranks."},
    {"E123", "batch smaller than the ranks",
     "Some ranks would have no sequence of the global batch.",
     "Increase train.global_batch_size, or use fewer ranks."},
    {"E124", "key without a meaning here",
     "The key does nothing together with another one that is set, so it is refused instead of "
     "ignored.",
     "Remove it, or change the other key that the sentence names."},
    {"E125", "model that is not split", "The job keeps its whole model on one GPU.",
     "Set devices.gpus_per_model=1."},
    {"E126", "model that cannot be split so",
     "The heads, columns or layers of the model cannot be divided among the ranks of a group, or a "
     "map of layers does not name ranks in order.",
     "Take another devices.gpus_per_model or model.parallel, or model.device_map=balanced."},
    {"E131", "window and model do not fit",
     "The histories, the context length and the token layout of the model are inconsistent.",
     "Change one of the keys that the sentence names."},
    {"E132", "environment too large for its source", "The explorer remembers at most 128 states.",
     "Choose another source (data.source) or a smaller environment."},
    {"E141", "no configuration, or more than one",
     "The command line needs exactly one CONF.yaml; - reads it from standard input.",
     "Give one file. Use --with FILE for files that override it."},
    {"E142", "unknown option", "There is no option of that name. Options are not abbreviated.",
     "Take the suggested one; --help shows all."},
    {"E143", "option without a proper value",
     "An option needs a value, got one that it does not know, or got one that it does not take.",
     "--help shows what it takes. Optional values need the equals sign: --resume=never."},
    {"E144", "argument that is not understood",
     "An argument is neither the configuration, nor KEY=VALUE, nor an option, or two options "
     "exclude each other.",
     "Follow the help line; quote values with blanks: 'run.name=my run'."},
    {"E201", "GPU not available", "A GPU of devices.gpus does not exist on a node.",
     "List GPUs inside the valid range; nvidia-smi -L shows them. CUDA_VISIBLE_DEVICES hides "
     "others."},
    {"E202", "two ranks on one GPU",
     "NCCL allows one rank per GPU, and a node has more ranks than visible GPUs.",
     "Start as many ranks per node as it has GPUs, list more with --gpus, or set "
     "devices.backend=staged."},
    {"E203", "no GPU for a rank", "The configuration asks for GPUs, and a rank sees none.",
     "Check the driver (nvidia-smi) and the allocation, or compute on the CPU: "
     "devices.backend=mpi."},
    {"E204", "empty list of GPUs", "devices.gpus is an empty list.",
     "Set devices.gpus=all, or a list such as [0, 1]."},
    {"E205", "GPUs and ranks differ in number",
     "devices.gpus lists another number of GPUs than there are ranks on the node.",
     "Start one rank per listed GPU, or change the list."},
    {"E206", "CUDA does not work",
     "The CUDA runtime answered with an error when it was asked for devices.",
     "nvidia-smi shows whether driver and GPUs are healthy; the driver has to be as new as the "
     "toolkit."},
    {"E211", "srun without PMIx",
     "The process is one of several Slurm tasks, but MPI sees only itself.",
     "Use srun --mpi=pmix ...; srun --mpi=list shows what the cluster supports."},
    {"E212", "MPI without threads",
     "The MPI library does not provide MPI_THREAD_MULTIPLE, which the communication thread needs.",
     "Load an Open MPI that was built with it; ompi_info | grep Thread shows it."},
    {"E213", "wrong test setting for nodes",
     "MGPU_RANKS_PER_NODE, which divides one machine into several for tests, is not valid.",
     "Unset MGPU_RANKS_PER_NODE."},
    {"E301", "out of memory", "Host or GPU memory did not suffice.",
     "Reduce train.micro_batch_size or generate.batch_size; --plan shows the memory of each part."},
    {"E401", "a rank or a node died",
     "A process of the run was killed, ran out of memory or crashed, or its node was lost. The "
     "message names its last position.",
     "Look for its report in crash/ and, for a killed process, in the system's log (out of "
     "memory?). The same command resumes the run."},
    {"E402", "a rank did not come",
     "A collective waited longer than comm.timeout_s for a rank, which hangs, died, or is still "
     "busy with other work.",
     "Look at the named rank and its file in logs/. A larger comm.timeout_s waits longer. The same "
     "command resumes the run."},
    {"E403", "another rank stopped the run", "This rank was waiting for one that failed.",
     "Read the message of that rank for the cause."},
    {"E404", "wrong values from MPI or NCCL",
     "--check gathered or summed known values over all ranks and got wrong results.",
     "Try another devices.backend; then suspect a driver, a network card, or two different MPI "
     "libraries."},
    {"E405", "a rank hangs",
     "A rank has shown no sign of progress for longer than watchdog.limit_s, or than "
     "watchdog.slow_limit_s while it loads or writes large files. The message names the rank that "
     "holds the others up, what it did last, and what its process does now.",
     "hang_report.txt in the run directory shows what all ranks did, and crash/ has their stacks. "
     "A process that waits for a disk points to the file system. The same command resumes the run. "
     "A larger watchdog.limit_s waits longer, and watchdog.enabled=false waits forever."},
    {"E521", "history from another environment",
     "A stored history has steps that the environment would not have made.",
     "Create new histories with data.path=null, or name the environment that they come from."},
    {"E531", "rows of a data file that cannot be used",
     "Rows violate their format (one JSON object per line, as many cells as columns), or lack "
     "fields that the job needs. The first five are shown; no row is skipped.",
     "Repair or remove those rows, or set data.on_bad_row=mark. A row has at most 16 MiB of UTF-8, "
     "and its JSON at most 32 levels."},
    {"E532", "data file that is not of its format",
     "The file cannot be read in the format of its name or data.format, or it has no rows.",
     "data.format names the format: jsonl, csv, tsv or parquet. data.header=false and "
     "data.quotes=false read tables without names or quotes."},
    {"E533", "column that a data file does not have",
     "A column that data.columns names, or that the job needs, is not in the file. The message "
     "lists the file's columns.",
     "Use data.columns.NAME=COLUMN to give the file's name of the column that is called NAME "
     "here."},
    {"E534", "data file that changes",
     "The size or time of a data file changed during the run, or differs between hosts. The "
     "results would not belong to any one version of the file.",
     "Put the file where all hosts see the same copy, and start again when nothing writes to it."},
    {"E535", "Parquet is not in this build",
     "Arrow, which reads Parquet, was not found when the program was built.",
     "Start launch/run.sh on a machine that can reach PyPI, or write the file as JSON Lines."},
    {"E536", "file of prompt strategies that cannot be used",
     "classify.prompt is neither a text that contains {text} nor JSON with strategies, or it has "
     "no strategy of that name.",
     "{\"strategies\": {\"NAME\": {\"system_prompt\": \"...\", \"user_template\": \"... "
     "{text}\"}}}. Choose one with classify.strategy=NAME."},
    {"E537", "answer that names no label",
     "A generated answer contains no label of classify.labels, or several, and "
     "classify.on_unparsed is error.",
     "Set classify.on_unparsed to count or retry, or classify.score=label_logprob, which always "
     "finds a label."},
    {"E541", "malformed tokenizer file",
     "tokenizer.json or tokenizer_config.json is not JSON, or a value in it is missing or invalid. "
     "The message shows the place in the file.",
     "Fetch the model folder again."},
    {"E542", "tokenizer that is not supported",
     "The tokenizer file needs a component that this program lacks. Without it the tokens would "
     "differ.",
     "Use a model with another tokenizer; the message lists what is supported."},
    {"E543", "text without tokens",
     "A text is not UTF-8, or the tokenizer cannot encode it, and nothing is replaced silently.",
     "Repair the text at the position that the message names."},
    {"E544", "chat template that is not understood",
     "The Jinja of the model's chat template has an error, or uses a statement that this program "
     "does not support.",
     "Set data.chat_template=FILE.jinja to a corrected one, or use prompts without a template."},
    {"E545", "conversation that the chat template refuses",
     "The template itself raises an error (for example because roles do not alternate), or its "
     "result would differ from Python's. The message names the cause.",
     "Change the conversation accordingly, or give a prompt without a template."},
    {"E546", "chat templates are not in this build",
     "The Jinja of llama.cpp was not found when the program was built.",
     "Start launch/run.sh on a machine that can reach PyPI, or give prompts without a template."},
    {"E601", "file cannot be created", "The output folder is missing, read-only, or not yours.",
     "Choose another folder with --output DIR."},
    {"E602", "write failed",
     "The disk is full, a quota is reached, or the device reported an error. Nothing half-written "
     "was published.",
     "Make room and start the same command again: it continues."},
    {"E603", "file cannot be read",
     "A file is missing, unreadable or too large, or a pattern matches no file.",
     "Check the path that is shown. Paths in a configuration are relative to its folder, those on "
     "the command line to the current folder."},
    {"E604", "stored data is damaged", "A checksum of the journal or of a table does not match.",
     "Start the same command again: it recomputes the damaged data. If the error returns, suspect "
     "the disk."},
    {"E605", "data of another version",
     "The file was written in another version's format, or by another program.",
     "Finish with the version that started the run, or start over with --resume=never. data.path "
     "must name a file of this program."},
    {"E606", "file that cannot be taken over",
     "A file of the run differs from what this run would have written.",
     "Start over with --resume=never, or name the right run."},
    {"E607", "run directory in use", "Another process holds the lock of the run directory.",
     "Wait for it, stop it, or start a second run with --resume=never."},
    {"E608", "run of another configuration",
     "The run directory belongs to a configuration that differs in keys that determine the "
     "results, or the file of data.path has changed since its training began.",
     "Compare the keys that are shown, restore the old file, or start over with --resume=never."},
    {"E609", "not a run directory", "The folder has no run.json.",
     "Name a folder such as outputs/NAME/STAMP."},
    {"E610", "runs that do not make a whole",
     "--merge DIR DIR ... joins the runs of all parts of --only. A part is missing or unfinished, "
     "or a run has another configuration, other data or another model.",
     "Run the named part with the command that is shown, then merge again."},
    {"E611", "damaged checkpoint",
     "A checkpoint's checksums do not match; the program uses an older intact one.",
     "If no checkpoint is intact, start over with --resume=never."},
    {"E612", "checkpoint of another model",
     "Shapes or names in the checkpoint differ from those of the model.",
     "Restore the model keys, or start over with --resume=never."},
    {"E613", "checkpoint of another version", "The checkpoint's format is newer than this program.",
     "Use the version that wrote it."},
    {"E621", "malformed safetensors file",
     "The file violates the format: it is truncated, its tensors overlap, or its header is wrong.",
     "Fetch or write it again."},
    {"E622", "a Git LFS pointer or a pickle",
     "A file of a model is a Git LFS pointer, or its weights are a pickle.",
     "Fetch the files (git lfs pull), or convert the weights to safetensors."},
    {"E623", "JSON file of a model that cannot be used",
     "config.json, generation_config.json or the index of the weights is not one JSON object in "
     "UTF-8, has a name twice, or is nested deeper than 32 levels.",
     "Fetch the file again."},
    {"E624", "weights that do not fit together",
     "model.safetensors.index.json and the weight files disagree, or it names a file outside the "
     "folder.",
     "Fetch the folder again, with all files of the same revision."},
    {"E701", "model that is not supported",
     "config.json describes a family or a feature that this program does not compute exactly, so "
     "it is refused instead of approximated.",
     "The message lists what is supported."},
    {"E702", "configuration of a model that makes no sense",
     "A value of config.json or generation_config.json is missing, has the wrong type, or "
     "conflicts with another value.",
     "Compare the file with that of the original model."},
    {"E703", "gradient that is not finite",
     "The loss or gradient of a step has infinite or NaN values, also when computed again, and "
     "train.max_skipped_steps such batches were already skipped. Such values never reach a "
     "checkpoint.",
     "Try a lower train.learning_rate, a longer train.warmup_steps, or bf16 instead of fp16. The "
     "same command resumes from the last checkpoint."},
    {"E704", "model without an answer",
     "The logits of the model have NaN or infinite values, so no action can be drawn.",
     "Lower train.learning_rate, or start from an earlier checkpoint."},
    {"E705", "weights that are not those of the architecture",
     "The safetensors files lack tensors that config.json requires, have extra ones, or have other "
     "shapes or types.",
     "Take config.json and the weights from the same revision of the same model."},
    {"E706", "weights that are not finite",
     "A tensor of the model has infinite or NaN values, which would spread to all results.",
     "Fetch the file again; if it is the same, the model was saved from a run that had diverged."},
    {"E707", "gradient that differs from its repetition",
     "Twice a gradient was infinite or NaN, but finite when computed again from the same inputs. "
     "Equal inputs must give equal gradients, so a device or its memory is faulty.",
     "Exclude the device (devices.gpus, another node); the same command resumes from the last "
     "checkpoint."},
    {"E901", "internal error", "The program violated an internal rule. This is a bug.",
     "Please report it, with the message and the output of --env."},
    {"W611", "damaged checkpoint that was skipped",
     "A checkpoint's checksums do not match. It was renamed to .bad, and the run continues from "
     "the newest intact one before it.",
     "No action is needed; the steps in between are repeated. If the warning returns, suspect the "
     "disk. The .bad folder may be deleted."},
});

constexpr std::size_t kWidth = 80;

/// Breaks `text` into lines, each indented by two spaces.
std::string wrapped(std::string_view text) {
  std::string lines;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const bool fits = column > 0 && column + 1 + end <= kWidth;
    if (column > 0) lines += fits ? " " : "\n";
    if (!fits) lines += "  ";
    column = (fits ? column + 1 : 2) + end;
    lines += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::span<const ErrorPage> error_pages() {
  return kPages;
}

const ErrorPage* find_error_page(std::string_view code) {
  std::string upper(code);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto found = std::find_if(kPages.begin(), kPages.end(),
                                  [&](const ErrorPage& page) { return page.code == upper; });
  return found == kPages.end() ? nullptr : &*found;
}

std::string error_page_text(const ErrorPage& page) {
  return std::string(page.code) + ": " + std::string(page.title) + "\n\n" + wrapped(page.meaning) +
         "\n\n" + wrapped(page.remedy) + "\n";
}

}  // namespace mgpu
