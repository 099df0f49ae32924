#include "keys.hpp"

namespace mgpu::recipes {

void add_evaluate_keys(KeyTable& table) {
  table.add({.name = "evaluate.runs",
             .type = KeyType::integer,
             .default_value = "32",
             .summary = "runs of each unseen task in an evaluation",
             .unit = "runs",
             .min = 1,
             .max = 1e6});
  table.add({.name = "evaluate.episodes",
             .type = KeyType::integer,
             .default_value = "8",
             .summary = "episodes of each run; the context starts empty and keeps what fits",
             .unit = "episodes",
             .min = 1,
             .max = 10000});
  table.add({.name = "evaluate.controls",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "at the end, play again with hidden rewards and with a cleared context; "
                        "the agent must not improve in either"});
  table.accept({"test_batch_size", "evaluations play `run.chunk_size` runs together"});
  table.add_foreign({"per_device_eval_batch_size", "transformers",
                     "no such key here: evaluations play `run.chunk_size` runs together"});
}

void add_label_smoothing_key(KeyTable& table) {
  table.add({.name = "train.label_smoothing",
             .type = KeyType::number,
             .default_value = "0",
             .summary = "share of the target spread over all actions",
             .min = 0.0,
             .max = 0.999});
}

EvaluateConfig read_evaluate_config(const Config& config) {
  return {static_cast<int>(config.integer("evaluate.runs")),
          static_cast<int>(config.integer("evaluate.episodes")), config.flag("evaluate.controls")};
}

}  // namespace mgpu::recipes
