#include <mgpu/app/load_config.hpp>

namespace mgpu::app {

Config load_config(const Options& options, const KeyTable& table, const FileProvider& files,
                   const std::function<void(const Config&)>& rules) {
  ConfigSources sources = files.sources(options.config);
  sources.overlays = options.overlays;
  sources.overrides = options.overrides;
  sources.rules = rules;
  Config config = read_config(table, sources);
  if (rules) files.run_together([&] { rules(config); });
  return config;
}

}  // namespace mgpu::app
