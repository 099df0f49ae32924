#include <mgpu/ad/data_config.hpp>
#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/source.hpp>
#include <mgpu/config/common_keys.hpp>

namespace mgpu::ad {

void add_data_keys(KeyTable& table) {
  table.add({.name = "data.env",
             .type = KeyType::choice,
             .default_value = "darkroom",
             .summary = "environment that histories are played in",
             .choices = environment_names()});
  table.add(
      {.name = "data.env_split_seed",
       .type = KeyType::integer,
       .default_value = "0",
       .summary = "seed that splits tasks into training and test as Python's random.shuffle does",
       .min = 0,
       .max = 0x1p53});
  table.add({.name = "data.source",
             .type = KeyType::choice,
             .default_value = "explorer",
             .summary = "learning algorithm whose histories are distilled",
             .choices = source_names()});
  table.add({.name = "data.source_epsilon",
             .type = KeyType::number,
             .default_value = "0.05",
             .summary = "probability that the source acts at random",
             .min = 0,
             .max = 1});
  table.add({.name = "data.episodes",
             .type = KeyType::integer,
             .default_value = "8",
             .summary = "length of a history",
             .unit = "episodes",
             .min = 1,
             .max = 1e6});
  table.add({.name = "data.streams",
             .type = KeyType::integer,
             .default_value = "60",
             .summary = "histories of each training task",
             .unit = "histories",
             .min = 1,
             .max = 1e6});
  for (const char* name : {"num_workers", "data.num_workers"})
    table.accept({name, "each rank cuts its own batches, without loader processes"});
}

DataConfig read_data_config(const Config& config) {
  return {.env = config.text("data.env"),
          .source = config.text("data.source"),
          .path = read_data_path(config),
          .episodes = static_cast<int>(config.integer("data.episodes")),
          .streams = static_cast<int>(config.integer("data.streams")),
          .source_epsilon = config.number("data.source_epsilon"),
          .env_split_seed = static_cast<std::uint64_t>(config.integer("data.env_split_seed"))};
}

}  // namespace mgpu::ad
