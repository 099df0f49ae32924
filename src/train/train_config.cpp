#include <mgpu/train/train_config.hpp>

namespace mgpu::train {
namespace {

constexpr double kMaxSequences = 1e7;  // maximum of keys that count sequences or passes of one step

}  // namespace

void add_train_keys(KeyTable& table) {
  table.add_section_alias("training", "train");
  table.add({.name = "train.global_batch_size",
             .type = KeyType::integer,
             .default_value = "512",
             .summary = "sequences per optimizer step, all ranks together",
             .unit = "sequences",
             .min = 1,
             .max = kMaxSequences,
             .aliases = {"train_batch_size", "training.train_batch_size"},
             .alias_note = "it counts all ranks"});
  table.add(
      {.name = "train.micro_batch_size",
       .type = KeyType::integer,
       .default_value = "auto",
       .summary = "sequences per pass of one rank, never more than a lane; auto: one lane, "
                  "and for recipe ad on a GPU without layout all sequences of the rank",
       .unit = "sequences",
       .min = 1,
       .max = kMaxSequences,
       .choices = {"auto"},
       .aliases = {"training.micro_batch_size"},
       .foreign = {{"per_device_train_batch_size", "transformers",
                    "here it is `train.micro_batch_size` (one rank, one pass)"},
                   {.name = "micro_batch_size", .program = "axolotl", .top_level_only = true}}});
  table.add({.name = "train.lanes",
             .type = KeyType::integer,
             .default_value = "16",
             .summary = "fixed parts of the global batch; with run.deterministic=layout a power of "
                        "two that the rank count divides",
             .min = 1,
             .max = 4096});
  table.add({.name = "train.gradient_accumulation_steps",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "passes that a rank cuts its share of the global batch into, at least",
             .unit = "passes",
             .min = 1,
             .max = kMaxSequences,
             .aliases = {"gradient_accumulation_steps"},
             .alias_note = "it cuts `train.global_batch_size`, which does not change"});
  table.add({.name = "train.eval_every",
             .type = KeyType::integer,
             .default_value = "1000",
             .summary = "optimizer steps between evaluations; 0: only at the end",
             .unit = "steps",
             .min = 0,
             .foreign = {{"eval_steps", "transformers"}}});
  table.add({.name = "train.max_skipped_steps",
             .type = KeyType::integer,
             .default_value = "3",
             .summary = "steps left out of a start because their gradient is infinite or NaN, also "
                        "when computed again; one more ends it with 79",
             .unit = "steps",
             .min = 0,
             .max = 1e6,
             .identity = false});
  table.add_foreign({"train.batch_size", "PyTorch",
                     "a step of all ranks is `train.global_batch_size`, a pass of one rank is "
                     "`train.micro_batch_size`"});
  table.add_foreign({"tf32", "transformers", "fp32 stays fp32 here: remove it"});
  table.add_foreign({"deepspeed", "transformers", "nothing is sharded here: remove it"});
}

namespace {

BatchShape read_batch_shape(const Config& config) {
  const bool automatic = config.is("train.micro_batch_size", "auto");
  return {.global_batch = config.integer("train.global_batch_size"),
          .micro_batch = automatic ? 0 : config.integer("train.micro_batch_size"),
          .lanes = config.integer("train.lanes"),
          .accumulation = config.integer("train.gradient_accumulation_steps"),
          .layout = config.text("run.deterministic") == "layout"};
}

}  // namespace

TrainConfig read_train_config(const Config& config) {
  TrainConfig train;
  train.eval_every = config.integer("train.eval_every");
  train.max_skipped = config.integer("train.max_skipped_steps");
  train.batch = read_batch_shape(config);
  if (train.batch.layout && train.batch.accumulation > 1) {
    throw config.problem("E124", "train.gradient_accumulation_steps",
                         "`train.gradient_accumulation_steps` has no meaning with "
                         "`run.deterministic: layout`, where lanes fix the passes",
                         "train.lanes cuts the batch; remove this key");
  }
  return train;
}

void check_batch(const Config& config, int ranks) {
  const auto problem = problem_of(read_batch_shape(config), ranks);
  if (problem) throw config.problem(problem->code, problem->key, problem->sentence, problem->help);
}

}  // namespace mgpu::train
