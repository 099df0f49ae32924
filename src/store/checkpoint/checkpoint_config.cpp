#include <mgpu/store/checkpoint/checkpoint_config.hpp>

namespace mgpu::store {

void add_checkpoint_keys(KeyTable& table) {
  table.add({.name = "checkpoint.every",
             .type = KeyType::integer,
             .default_value = "1000",
             .summary = "a checkpoint each so many steps; 0: none by steps",
             .unit = "steps",
             .min = 0.0,
             .identity = false,
             .foreign = {{"save_steps", "transformers"}}});
  table.add({.name = "checkpoint.every_minutes",
             .type = KeyType::number,
             .default_value = "20",
             .summary = "or after this time, if that is earlier; 0: not by time",
             .unit = "minutes",
             .min = 0.0,
             .max = 10080.0,
             .identity = false});
  table.add({.name = "checkpoint.keep",
             .type = KeyType::integer,
             .default_value = "3",
             .summary = "newest checkpoints kept; the best is kept as well",
             .unit = "checkpoints",
             .min = 1.0,
             .max = 1000000.0,
             .identity = false,
             .foreign = {{"save_total_limit", "transformers"}}});
}

CheckpointConfig read_checkpoint_config(const Config& config) {
  return {config.integer("checkpoint.every"), config.number("checkpoint.every_minutes"),
          static_cast<int>(config.integer("checkpoint.keep"))};
}

}  // namespace mgpu::store
