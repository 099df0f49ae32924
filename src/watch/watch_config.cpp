#include <algorithm>

#include <mgpu/watch/watch_config.hpp>

namespace mgpu::watch {

void add_watch_keys(KeyTable& table) {
  table.add({.name = "watchdog.enabled",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "names a rank that died or hangs, and ends the run with 76",
             .identity = false});
  table.add({.name = "watchdog.limit_s",
             .type = KeyType::duration,
             .default_value = "auto",
             .summary = "a rank without a sign of progress for so long hangs; auto: comm.timeout_s",
             .unit = "seconds",
             .min = 1,
             .choices = {"auto"},
             .identity = false});
  table.add({.name = "watchdog.slow_limit_s",
             .type = KeyType::duration,
             .default_value = "1800",
             .summary = "the same while a model is loaded, texts are tokenized, or checkpoints and "
                        "results are written; at least watchdog.limit_s",
             .unit = "seconds",
             .min = 1,
             .identity = false});
}

WatchConfig read_watch_config(const Config& config) {
  WatchConfig values;
  values.enabled = config.flag("watchdog.enabled");
  values.limit_s =
      config.seconds(config.is("watchdog.limit_s", "auto") ? "comm.timeout_s" : "watchdog.limit_s");
  values.slow_limit_s = std::max(values.limit_s, config.seconds("watchdog.slow_limit_s"));
  return values;
}

}  // namespace mgpu::watch
