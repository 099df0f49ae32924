#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>
#include <vector>

#include <mgpu/app/load_config.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/yaml_document.hpp>

namespace mgpu::app {
namespace {

// One byte more than a configuration may have, so that its reader can say so.
constexpr std::size_t kReadBytes = YamlLimits::kBytes + 1;
constexpr char kOk = '+';
constexpr char kFailed = '-';

std::string read_stream(std::istream& stream) {
  std::string bytes(kReadBytes, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

std::string read_start(const fs::path& path) {
  if (path == "-") return read_stream(std::cin);
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (!file || fs::is_directory(path, ignored)) return read_file(path);  // throws, and says why
  return read_stream(file);
}

/// A report as fields behind NULs, so that a failure travels as bytes do.
std::string pack(const Report& report) {
  std::string packed = report.code;
  const std::string exit = std::to_string(static_cast<int>(report.exit));
  for (const std::string* field : {&exit, &report.sentence, &report.help})
    packed += '\0' + *field;
  for (const std::string& line : report.lines)
    packed += '\0' + line;
  return packed;
}

Report unpack(const std::string& packed) {
  std::vector<std::string> fields;
  std::istringstream stream(packed);
  for (std::string field; std::getline(stream, field, '\0');)
    fields.push_back(field);
  fields.resize(std::max<std::size_t>(fields.size(), 4));
  return {fields[0],
          static_cast<ExitCode>(std::stoi(fields[1])),
          fields[2],
          {fields.begin() + 4, fields.end()},
          fields[3]};
}

std::string read_packed(const fs::path& path) {
  try {
    return kOk + read_start(path);
  } catch (const std::exception& error) {
    return kFailed + pack(report_of(error));
  }
}

}  // namespace

FileProvider::FileProvider(bool reads, Broadcast broadcast)
    : reads_(reads), broadcast_(std::move(broadcast)) {}

FileProvider FileProvider::alone() {
  return {true, [](std::string bytes) { return bytes; }};
}

FileProvider FileProvider::shared(const cluster::Group& group) {
  return {group.rank() == 0,
          [&group](std::string bytes) { return group.broadcast(std::move(bytes), 0); }};
}

std::string FileProvider::read(const fs::path& path) const {
  const std::string packed = broadcast_(reads_ ? read_packed(path) : std::string());
  if (packed.starts_with(kFailed)) throw Failure(unpack(packed.substr(1)));
  return packed.substr(1);
}

fs::path FileProvider::working_directory() const {
  return broadcast_(reads_ ? fs::current_path().string() : std::string());
}

Config load_config(const Options& options, const KeyTable& table, const FileProvider& files) {
  ConfigSources sources;
  sources.file = options.config;
  sources.overlays = options.overlays;
  sources.overrides = options.overrides;
  sources.working_directory = files.working_directory();
  sources.read = [&](const fs::path& path) { return files.read(path); };
  return read_config(table, sources);
}

}  // namespace mgpu::app
