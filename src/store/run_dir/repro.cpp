#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include <mgpu/base/ascii.hpp>
#include <mgpu/base/environment.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/secrets.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/path_text.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/run_dir/repro.hpp>

namespace mgpu::store {
namespace {

using formats::JsonValue;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02X", byte);
    out += code;
  }
  return out;
}

/// Returns `text` in quotes, with each quote inside replaced by `escaped`.
std::string quoted(const std::string& text, char quote, std::string_view escaped) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) {
      out += escaped;
    } else {
      out += c;
    }
  }
  out += quote;
  return out;
}

std::string csv_field(const std::string& text) {
  const bool is_plain = text.find_first_of(",\"\r\n") == std::string::npos;
  return is_plain ? text : quoted(text, '"', "\"\"");
}

std::string rank_row(const cluster::Group& group, const RankFacts& facts) {
  return std::to_string(group.rank()) + ',' + csv_field(facts.host) + ',' +
         csv_field(facts.gpu_uuid) + ',' + csv_field(facts.gpu_pci) + ',' +
         std::to_string(facts.numa_node) + ',' + csv_field(facts.cores) + '\n';
}

std::string versions_text(std::map<std::string, std::string> versions) {
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  cluster::mpi_check(MPI_Get_library_version(mpi, &length));
  versions.emplace("mpi", std::string(mpi));  // the length that Open MPI 4.1 returns counts the NUL
  versions.emplace("compiler", __VERSION__);
  return formats::to_json(JsonValue::Members(versions.begin(), versions.end()));
}

}  // namespace

std::string redacted_argument(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  if (equals == std::string_view::npos || !is_secret_name(name)) return redact(argument);
  return std::string(argument.substr(0, equals + 1)).append(kHidden);
}

std::string shell_word(const std::string& word) {
  if (!word.empty() && has_only_alphanumeric_or("_@%+=:,./-", word)) return word;
  return quoted(word, '\'', "'\\''");
}

std::string path_argument(std::string_view key, const std::filesystem::path& path) {
  return shell_word(std::string(key) + "=" + unexpanded_path(path.string()));
}

std::string command_line(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    text += shell_word(redacted_argument(word));
  }
  return text;
}

std::string environment_text(const char* const* environment) {
  std::string text;
  for (const auto& [name, value] : shown_environment(environment))
    text.append(name).append("=").append(escaped(value)).append("\n");
  return text;
}

void write_repro(const cluster::Group& group, const std::filesystem::path& run_directory,
                 const ReproFacts& facts, const RankFacts& mine) {
  const std::string row = rank_row(group, mine);
  const std::vector<std::string> rows = group.gather(row, 0);
  cluster::on_rank_0(group, [&] {
    const fs::path folder = run_directory / "repro";
    std::error_code error;
    fs::create_directories(folder, error);
    fs::permissions(folder, fs::perms::owner_all, error);  // env.txt shows the user's environment
    const JsonValue::Members seeds(facts.seeds.begin(), facts.seeds.end());
    std::string ranks = "rank,host,gpu_uuid,gpu_pci,numa_node,cores\n";
    for (const std::string& line : rows)
      ranks += line;
    const std::map<std::string, std::string> files = {
        {"config.resolved.yaml", facts.resolved_yaml},
        {"command.txt", command_line(facts.command) + "\n"},
        {"versions.json", versions_text(facts.versions)},
        {"ranks.csv", ranks},
        {"env.txt", environment_text(environ)},
        {"seeds.json", formats::to_json(seeds)}};
    for (const auto& [name, text] : files)
      write_file_durably(folder / name, text, "repro");
  });
}

}  // namespace mgpu::store
