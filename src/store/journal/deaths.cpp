#include "deaths.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <mgpu/base/death_note.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>

#include "work_mark.hpp"

namespace mgpu::store {
namespace {

using formats::JsonError;
using formats::JsonValue;

std::string line_of(const Death& death) {
  return formats::to_json_line(JsonValue::Members{{"attempt", death.attempt},
                                                  {"cause", death.cause},
                                                  {"count", death.span.count},
                                                  {"first", death.span.first},
                                                  {"host", death.host},
                                                  {"phase", death.span.phase},
                                                  {"rank", death.rank}}) +
         "\n";
}

Death death_in(const std::string& line) {
  const JsonValue json = formats::parse_json_object(line);
  return {json.get<std::uint32_t>("attempt"),
          json.get<int>("rank"),
          json.get<std::string>("host"),
          {json.get<std::uint32_t>("phase"), json.get<std::int64_t>("first"),
           json.get<std::int64_t>("count")},
          json.get<std::string>("cause")};
}

/// Returns the death of the rank that died first in an attempt, with the samples that the rank was
/// processing. Returns nullopt in these cases:
/// - the attempt has no death note
/// - the rank was processing no samples, or `marks` lacks the rank
/// - the launcher wrote the death note although other ranks ran on the same host. The node probably
///   failed: a watchdog of these ranks would have written the note otherwise.
std::optional<Death> death_of(std::uint32_t attempt, const std::vector<SeenMark>& marks,
                              const fs::path& run_directory) {
  const auto note = read_death_note(note_path(run_directory, attempt));
  if (!note) return std::nullopt;
  const auto mark = std::ranges::find_if(
      marks, [&](const SeenMark& one) { return one.attempt == attempt && one.rank == note->rank; });
  if (mark == marks.end() || !mark->span) return std::nullopt;
  const auto on_its_host = std::ranges::count_if(
      marks, [&](const SeenMark& one) { return one.attempt == attempt && one.host == mark->host; });
  if (note->witness == "launcher" && on_its_host > 1) return std::nullopt;
  return Death{attempt, note->rank, mark->host, *mark->span, note->cause};
}

}  // namespace

std::string text_of(const std::vector<Death>& deaths) {
  std::string text;
  for (const Death& death : deaths)
    text += line_of(death);
  return text;
}

std::vector<Death> deaths_in(const std::string& text, const fs::path& file) {
  std::vector<Death> deaths;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    try {
      deaths.push_back(death_in(line));
    } catch (const JsonError& problem) {
      throw Failure({"E604",
                     ExitCode::corrupt,
                     "the list of deaths is damaged: " + problem.why(),
                     {"  --> " + file.string()},
                     "remove it: then nothing is quarantined"});
    }
  }
  return deaths;
}

fs::path note_path(const fs::path& run_directory, std::uint32_t attempt) {
  return attempt_path(run_directory, attempt).replace_extension(".died");
}

std::vector<Death> collect_deaths(const fs::path& run_directory, const fs::path& file,
                                  std::uint32_t attempt) {
  std::vector<Death> deaths;
  if (fs::exists(file)) deaths = deaths_in(read_file(file), file);
  const std::size_t known = deaths.size();
  const std::vector<SeenMark> marks = seen_marks(run_directory);
  std::set<std::uint32_t> attempts;
  for (const SeenMark& mark : marks)
    if (mark.attempt < attempt) attempts.insert(mark.attempt);
  for (const Death& death : deaths)
    attempts.erase(death.attempt);
  for (const std::uint32_t one : attempts)
    if (auto death = death_of(one, marks, run_directory)) deaths.push_back(std::move(*death));
  if (deaths.size() > known) write_file_durably(file, text_of(deaths), "quarantine");
  remove_marks(run_directory, attempt - 1);
  return deaths;
}

}  // namespace mgpu::store
