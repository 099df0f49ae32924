// Reads any bytes as a configuration. The result must be a ConfigFailure, or a Config that does not
// change when it is printed and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <mgpu/base/utf8.hpp>
#include <mgpu/config/config_print.hpp>
#include <mgpu/config/config_reader.hpp>

#include "config/config_test_table.hpp"

namespace {

using namespace mgpu;

Config read(const KeyTable& table, const std::string& text, const std::string& argument) {
  ConfigSources sources;
  sources.file = "fuzz.yaml";
  sources.working_directory = "/fuzz";
  if (const std::size_t equals = argument.find('='); equals != std::string::npos) {
    sources.overrides.push_back({argument.substr(0, equals), argument.substr(equals + 1),
                                 "command line, argument 2", argument,
                                 static_cast<int>(equals) + 2});
  }
  sources.read = [&](const std::filesystem::path& path) {
    return path == "/fuzz/fuzz.yaml" ? text : std::string("run: {seed: 1}\n");
  };
  return read_config(table, sources);
}

void require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

/// Runs one input, whose first line may be "# arguments: KEY=VALUE".
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const KeyTable kTable = config_test_table();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string marker = "# arguments: ";
  std::string argument;
  if (text.starts_with(marker))
    argument = text.substr(marker.size(), text.find('\n') - marker.size());
  try {
    const Config config = read(kTable, text, argument);
    const std::string resolved = config.resolved_yaml();
    const Config again = read(kTable, resolved, "");
    require(again.resolved_yaml() == resolved);
    require(again.identity() == config.identity());
    require(!print_json(config).empty());
  } catch (const ConfigFailure& failure) {
    const std::string shown = render(failure.report());
    require(find_bad_utf8(shown) == std::string::npos && shown.find('\x1b') == std::string::npos);
  }
  return 0;
}
