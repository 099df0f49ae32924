#include "joined_rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

#include "stage_order.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlockBytes = 1 << 20;

/// Returns the paths of the files that an input joins: one for each round, in the order of the
/// rounds. An input without StageInput::earlier has one path.
std::vector<fs::path> paths_of_rounds(const StageInput& input,
                                      const std::map<std::size_t, std::string>& directories) {
  std::vector<fs::path> paths;
  for (const std::size_t stage : input.earlier)
    paths.push_back(fs::path(directories.at(stage)) / input.relative);
  paths.push_back(fs::path(directories.at(input.from)) / input.relative);
  return paths;
}

void append(const fs::path& from, DurableFile& to) {
  std::ifstream file(from, std::ios::binary);
  std::string block(kBlockBytes, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
    to.write(std::string_view(block).substr(0, static_cast<std::size_t>(file.gcount())));
  if (file.eof()) return;
  throw Failure({"E603",
                 ExitCode::no_input,
                 "the rows of an earlier round cannot be read",
                 {"  --> " + from.string()},
                 "remove the run directory of that stage, so that it runs again"});
}

/// Writes the contents of the files `rounds`, one after the other, to the file `joined`. The file
/// is first written under a temporary name, so readers never see an incomplete file.
void join(const std::vector<fs::path>& rounds, const fs::path& joined) {
  fs::create_directories(joined.parent_path());
  const fs::path fresh = joined.string() + ".part" + std::to_string(::getpid());
  DurableFile file(fresh, "export", DurableFile::Mode::replace);
  for (const fs::path& round : rounds)
    append(round, file);
  file.sync();
  file.close();
  rename_durably(fresh, joined, "export");
}

}  // namespace

void find_rounds(const std::vector<Stage>& stages, const Stage& reader, StageInput& input) {
  if (*input.relative.begin() != kAllRounds) return;
  input.relative = input.relative.lexically_relative(kAllRounds);
  if (input.relative.extension() != ".jsonl")
    refuse_stage(reader.file,
                 "`${rounds." + stages[input.from].file_name + "}` joins JSON Lines only, and " +
                     input.key + " reads " + input.relative.string(),
                 "${rounds." + stages[input.from].file_name + "}/results.jsonl");
  if (const auto found = reader.rounds.find(input.from); found != reader.rounds.end())
    input.earlier = found->second;
}

fs::path path_of(const StageInput& input, const std::map<std::size_t, std::string>& directories) {
  const std::vector<fs::path> rounds = paths_of_rounds(input, directories);
  if (rounds.size() == 1) return rounds.front();
  std::string all;
  for (const fs::path& round : rounds)
    all += round.string() + "\n";
  const fs::path folder = std::string(kAllRounds) + "_" + sha256_hex(all).substr(0, 12);
  return fs::path(directories.at(input.from)) / folder / input.relative;
}

fs::path path_for_plan(const StageInput& input,
                       const std::map<std::size_t, std::string>& directories) {
  const fs::path path = path_of(input, directories);
  std::error_code error;
  return fs::exists(path, error) ? path : paths_of_rounds(input, directories).back();
}

void join_rounds(const Stage& stage, const std::map<std::size_t, std::string>& directories) {
  for (const StageInput& input : stage.inputs) {
    const fs::path joined = path_of(input, directories);
    if (!input.earlier.empty() && !fs::exists(joined))
      join(paths_of_rounds(input, directories), joined);
  }
}

}  // namespace mgpu::jobs
