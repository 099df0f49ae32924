#include <regex>

#include <mgpu/store/store_config.hpp>

namespace mgpu::store {
namespace {

int read_gzip(const Config& config) {
  const std::string text = config.text("output.compression");
  static const std::regex kGzip("gzip:([1-9])");
  std::smatch match;
  if (text == "none") return 0;
  if (std::regex_match(text, match, kGzip)) return std::stoi(match[1]);
  throw config.problem("E107", "output.compression",
                       "`output.compression` is none or gzip:1 to gzip:9", "gzip:4 is the default");
}

/// Names become folders: no separators, nothing hidden, no blanks or colons.
std::string read_name(const Config& config, const char* key) {
  const std::string name = config.text(key);
  static const std::regex kName("[A-Za-z0-9_][A-Za-z0-9_.+-]*");
  if (std::regex_match(name, kName)) return name;
  throw config.problem("E107", key,
                       "`" + std::string(key) + "` becomes a file name: letters, digits, _ . + -");
}

}  // namespace

void add_store_keys(KeyTable& table) {
  table.add({.name = "run.name",
             .type = KeyType::text,
             .standard = "run",
             .text = "results go to <run.output>/<run.name>/<time>",
             .aliases = {"experiment.name"},
             .identity = false});
  table.add({.name = "run.output",
             .type = KeyType::path,
             .standard = "outputs",
             .text = "folder of all runs",
             .identity = false});
  table.add({.name = "run.resume",
             .type = KeyType::path,
             .standard = "auto",
             .text = "auto continues the newest unfinished run of this name and configuration",
             .choices = {"auto", "never"},
             .identity = false});
  table.add({.name = "output.file",
             .type = KeyType::text,
             .standard = "results.h5",
             .text = "name of the result file in the run directory",
             .identity = false});
  table.add({.name = "output.compression",
             .type = KeyType::text,
             .standard = "gzip:4",
             .text = "of number columns: none or gzip:1 to gzip:9",
             .choices = {"none"},
             .identity = false});
  table.add({.name = "output.text",
             .type = KeyType::flag,
             .standard = "true",
             .text = "text columns next to the numbers",
             .identity = false});
  table.add({.name = "output.max_failed",
             .type = KeyType::number,
             .standard = "0.0",
             .text = "share of samples that may fail before the run ends with exit code 1",
             .min = 0,
             .max = 1,
             .identity = false});
  table.add({.name = "ledger.sync_s",
             .type = KeyType::number,
             .standard = "1",
             .text = "finished chunks are safe from a power failure after this time",
             .unit = "seconds",
             .min = 0.0,
             .max = 3600.0,
             .identity = false});
}

StoreConfig read_store_config(const Config& config) {
  StoreConfig store;
  store.run_name = read_name(config, "run.name");
  store.output_folder = config.text("run.output");
  store.resume = config.text("run.resume");
  store.result_file = read_name(config, "output.file");
  store.gzip = read_gzip(config);
  store.text = config.flag("output.text");
  store.max_failed = config.number("output.max_failed");
  store.sync_s = config.number("ledger.sync_s");
  return store;
}

std::map<std::string, std::string> identity_keys(const Config& config) {
  std::map<std::string, std::string> keys;
  for (const KeySpec& key : config.table().keys())
    if (key.identity) keys.emplace(key.name, config.shown(key.name));
  return keys;
}

}  // namespace mgpu::store
