#pragma once

#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/key_table.hpp>

namespace mgpu {

/// The common keys and a few of every type, added in the way of the modules.
inline KeyTable config_test_table() {
  KeyTable table;
  add_common_keys(table, {"train"});
  table.add({.name = "run.name",
             .standard = "train_ad",
             .text = "name of the run",
             .aliases = {"experiment.name"}});
  table.add({.name = "run.output",
             .type = KeyType::path,
             .standard = "outputs",
             .text = "where runs go",
             .identity = false});
  table.add({.name = "devices.gpus",
             .type = KeyType::integers,
             .standard = "all",
             .text = "GPUs of each node",
             .min = 0,
             .choices = {"all"},
             .identity = false});
  table.add({.name = "devices.gpus_per_model",
             .type = KeyType::integer,
             .standard = "1",
             .text = "ranks that share one copy of the model",
             .unit = "ranks",
             .min = 1,
             .foreign = {{"tensor_parallel_size", "vLLM"}}});
  table.add_foreign({"num_processes", "accelerate", "that is mpirun's -np"});
  table.add({.name = "devices.cache",
             .type = KeyType::bytes,
             .standard = "64MiB",
             .text = "host cache per rank",
             .identity = false});
  table.add({.name = "comm.timeout",
             .type = KeyType::duration,
             .standard = "300",
             .text = "when a collective counts as hung",
             .min = 1,
             .identity = false});
  table.add({.name = "model.tf_n_embd",
             .type = KeyType::integer,
             .standard = "64",
             .text = "model width",
             .min = 1});
  table.add({.name = "model.attn_impl",
             .type = KeyType::choice,
             .standard = "auto",
             .text = "attention kernel",
             .choices = {"auto", "eager", "flash"},
             .aliases = {"system.attn_impl"}});
  table.add({.name = "data.path",
             .type = KeyType::path,
             .standard = "null",
             .text = "histories to read instead of making them",
             .choices = {"null"}});
  table.add({.name = "data.max_samples",
             .type = KeyType::integer,
             .standard = "null",
             .text = "use only the first samples",
             .unit = "samples",
             .min = 1,
             .choices = {"null"},
             .aliases = {"distillation.dataset.max_samples"}});
  table.add({.name = "data.labels",
             .type = KeyType::texts,
             .standard = "[]",
             .text = "names of the classes"});
  table.add({.name = "train.max_steps",
             .type = KeyType::integer,
             .standard = "50000",
             .text = "optimizer steps of the whole job",
             .unit = "steps",
             .min = 1});
  table.add({.name = "train.global_batch_size",
             .type = KeyType::integer,
             .standard = "512",
             .text = "sequences per optimizer step, all ranks together",
             .unit = "sequences",
             .min = 1,
             .aliases = {"train_batch_size"}});
  table.add(
      {.name = "train.micro_batch_size",
       .type = KeyType::integer,
       .standard = "auto",
       .text = "sequences per pass of one rank",
       .unit = "sequences",
       .min = 1,
       .choices = {"auto"},
       .foreign = {{"per_device_train_batch_size", "transformers",
                    "here it is `train.micro_batch_size` (one rank, one pass)"},
                   {.name = "micro_batch_size", .program = "axolotl", .top_level_only = true}}});
  table.add({.name = "train.learning_rate",
             .type = KeyType::number,
             .standard = "3e-4",
             .text = "peak learning rate",
             .min = 0,
             .max = 10});
  table.add({.name = "train.mixed_precision",
             .type = KeyType::choice,
             .standard = "no",
             .text = "format of the matrix products",
             .choices = {"no", "fp16", "bf16"},
             .foreign = {{"bf16", "transformers", "here it is `train.mixed_precision: bf16`"}}});
  table.add({.name = "train.gradient_checkpointing",
             .type = KeyType::flag,
             .standard = "false",
             .text = "recompute activations"});
  return table;
}

}  // namespace mgpu
