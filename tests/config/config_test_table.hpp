#pragma once

#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/key_table.hpp>

namespace mgpu {

/// Returns a table with the common keys and a few keys of every type, added as modules add them.
inline KeyTable config_test_table() {
  KeyTable table;
  add_common_keys(table, {"train"});
  table.add_section_alias("training", "train");
  table.add({.name = "run.name",
             .default_value = "train_ad",
             .summary = "name of the run",
             .aliases = {"experiment.name"}});
  table.add({.name = "run.output",
             .type = KeyType::path,
             .default_value = "outputs",
             .summary = "where runs go",
             .identity = false});
  table.add({.name = "devices.gpus",
             .type = KeyType::integers,
             .default_value = "all",
             .summary = "GPUs of each node",
             .min = 0,
             .choices = {"all"},
             .identity = false});
  table.add({.name = "devices.gpus_per_model",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "ranks that share one copy of the model",
             .unit = "ranks",
             .min = 1,
             .foreign = {{"tensor_parallel_size", "vLLM"}}});
  table.add_foreign({"num_processes", "accelerate", "that is mpirun's -np"});
  table.add({.name = "devices.cache",
             .type = KeyType::bytes,
             .default_value = "64MiB",
             .summary = "host cache per rank",
             .identity = false});
  table.add({.name = "comm.timeout",
             .type = KeyType::duration,
             .default_value = "300",
             .summary = "when a collective counts as hung",
             .min = 1,
             .identity = false});
  table.add({.name = "model.tf_n_embd",
             .type = KeyType::integer,
             .default_value = "64",
             .summary = "model width",
             .min = 1});
  table.add({.name = "model.attn_impl",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary = "attention kernel",
             .choices = {"auto", "eager", "flash"},
             .aliases = {"system.attn_impl"}});
  table.add({.name = "data.path",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "histories to read instead of making them",
             .choices = {"null"}});
  table.add({.name = "data.max_samples",
             .type = KeyType::integer,
             .default_value = "null",
             .summary = "use only the first samples",
             .unit = "samples",
             .min = 1,
             .choices = {"null"},
             .aliases = {"distillation.dataset.max_samples"}});
  table.add({.name = "data.labels",
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "names of the classes",
             .may_map = true});
  table.add({.name = "train.max_steps",
             .type = KeyType::integer,
             .default_value = "50000",
             .summary = "optimizer steps of the whole job",
             .unit = "steps",
             .min = 1});
  table.add({.name = "train.global_batch_size",
             .type = KeyType::integer,
             .default_value = "512",
             .summary = "sequences per optimizer step, all ranks together",
             .unit = "sequences",
             .min = 1,
             .aliases = {"train_batch_size"}});
  table.add(
      {.name = "train.micro_batch_size",
       .type = KeyType::integer,
       .default_value = "auto",
       .summary = "sequences per pass of one rank",
       .unit = "sequences",
       .min = 1,
       .choices = {"auto"},
       .foreign = {{"per_device_train_batch_size", "transformers",
                    "here it is `train.micro_batch_size` (one rank, one pass)"},
                   {.name = "micro_batch_size", .program = "axolotl", .top_level_only = true}}});
  table.add({.name = "train.learning_rate",
             .type = KeyType::number,
             .default_value = "3e-4",
             .summary = "peak learning rate",
             .min = 0,
             .max = 10});
  table.add({.name = "train.mixed_precision",
             .type = KeyType::choice,
             .default_value = "no",
             .summary = "format of the matrix products",
             .choices = {"no", "fp16", "bf16"},
             .foreign = {{"bf16", "transformers", "here it is `train.mixed_precision: bf16`"}}});
  table.add({.name = "train.gradient_checkpointing",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "recompute activations"});
  return table;
}

}  // namespace mgpu
