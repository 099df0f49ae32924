#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/ascii.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::store {
namespace {

constexpr std::size_t kLongestName = 255;  // limit of Linux for a file name, in bytes
constexpr const char* kTakenName = "another file of the run has this name";

/// Returns why a run or its result file cannot have this name; nullptr if it can. The program
/// creates a folder or a file with this name. The name may therefore hold only letters, digits and
/// `_ . + -`, and must begin with a letter, a digit or an underscore. It has at most kLongestName
/// bytes.
const char* why_no_name(const std::string& name) {
  if (name.size() > kLongestName) return "becomes a file name: at most 255 characters";
  const bool is_name = !name.empty() && has_only_alphanumeric_or("_.+-", name) &&
                       has_only_alphanumeric_or("_", name.substr(0, 1));
  return is_name ? nullptr : "becomes a file name: letters, digits, _ . + -";
}

const char* why_no_result_file(const std::string& name) {
  if (const char* wrong = why_no_name(name)) return wrong;
  if (!name.ends_with(".h5")) return "an HDF5 file: its name ends in .h5";
  return name == "run.h5" ? kTakenName : nullptr;
}

std::vector<std::string> compressions() {
  std::vector<std::string> names = {"none"};
  for (int level = 1; level <= 9; ++level)
    names.push_back("gzip:" + std::to_string(level));
  return names;
}

}  // namespace

void add_store_keys(KeyTable& table) {
  table.add({.name = "run.name",
             .type = KeyType::text,
             .default_value = "run",
             .summary = "results go to <run.output>/<run.name>/<time>",
             .aliases = {"experiment.name"},
             .why_not = why_no_name,
             .identity = false,
             .foreign = {{"run_name", "transformers"}}});
  table.add({.name = "run.output",
             .type = KeyType::path,
             .default_value = "outputs",
             .summary = "folder of all runs",
             .identity = false,
             .foreign = {{"output_dir", "transformers"}, {"logging_dir", "transformers"}}});
  table.add({.name = "run.resume",
             .type = KeyType::path,
             .default_value = "auto",
             .summary = "auto continues the newest unfinished run of this name and configuration",
             .choices = {"auto", "never"},
             .identity = false,
             .foreign = {{"resume_from_checkpoint", "transformers"}}});
  table.add({.name = "output.file",
             .type = KeyType::text,
             .default_value = "results.h5",
             .summary = "name of the result file in the run directory, ends in .h5",
             .why_not = why_no_result_file,
             .identity = false});
  table.add({.name = "output.compression",
             .type = KeyType::choice,
             .default_value = "gzip:4",
             .summary = "of number columns",
             .choices = compressions(),
             .identity = false});
  table.add({.name = "output.text",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "text columns next to the numbers",
             .identity = false});
  table.add({.name = "output.max_failed",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary = "share of samples that may fail before the run ends with exit code 1",
             .min = 0,
             .max = 1,
             .identity = false});
  table.add({.name = "ledger.sync_s",
             .type = KeyType::number,
             .default_value = "1",
             .summary = "finished chunks are safe from a power failure after this time",
             .unit = "seconds",
             .min = 0.0,
             .max = 3600.0,
             .identity = false});
}

StoreConfig read_store_config(const Config& config) {
  StoreConfig store;
  store.run_name = config.text("run.name");
  store.output_folder = config.text("run.output");
  store.resume = config.text("run.resume");
  store.result_file = config.text("output.file");
  const std::string compression = config.text("output.compression");
  store.gzip = compression == "none" ? 0 : std::stoi(compression.substr(std::strlen("gzip:")));
  store.text = config.flag("output.text");
  store.max_failed = config.number("output.max_failed");
  store.sync_s = config.number("ledger.sync_s");
  return store;
}

void refuse_result_file(const Config& config, std::span<const std::string_view> taken) {
  const std::string name = config.text("output.file");
  if (std::ranges::find(taken, name) == taken.end()) return;
  throw config.problem("E107", "output.file", kTakenName, "output.file=results.h5");
}

std::map<std::string, std::string> identity_keys(const Config& config) {
  std::map<std::string, std::string> keys;
  for (const KeySpec* key : config.keys())
    if (key->identity) keys.emplace(key->name, config.shown(key->name));
  return keys;
}

std::vector<std::string> differences(const std::map<std::string, std::string>& first,
                                     const std::map<std::string, std::string>& second,
                                     const PlaceNames& names) {
  const auto value_in = [](const auto& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string("(none)") : found->second;
  };
  std::map<std::string, std::string> all = first;
  all.insert(second.begin(), second.end());
  std::vector<std::string> lines;
  for (const auto& [key, value] : all) {
    const std::string one = value_in(first, key);
    const std::string other = value_in(second, key);
    if (one == other) continue;
    lines.push_back("  " + key + ": " + one + " " + names.first + ", " + other + " " +
                    names.second);
  }
  return lines;
}

}  // namespace mgpu::store
