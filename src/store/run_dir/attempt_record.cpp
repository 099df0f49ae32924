#include <algorithm>
#include <cstdio>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>
#include <mgpu/store/run_dir/repro.hpp>

#include "store/file_numbers.hpp"

namespace mgpu::store {
namespace {

using formats::JsonValue;

/// Returns the first number in the name of each file in `folder`, in ascending order. Skips files
/// whose names do not have the given form, see numbers_in().
std::vector<std::uint32_t> numbers_of(const fs::path& folder, std::string_view form) {
  std::vector<std::uint32_t> numbers;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (const auto number = numbers_in(entry.path().filename().string(), form))
      numbers.push_back(number->front());
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

void AttemptRecord::write(const std::filesystem::path& run_directory) const {
  JsonValue::List words;
  for (const std::string& word : command)
    words.push_back(redacted_argument(word));
  JsonValue::Members json{{"attempt", attempt}, {"begun", begun}, {"command", std::move(words)}};
  if (exit) {
    json.emplace_back("ended", ended);
    json.emplace_back("exit", static_cast<int>(*exit));
  }
  json.emplace_back("host", host);
  json.emplace_back("job_id", job_id);
  json.emplace_back("pid", pid);
  json.emplace_back("ranks", ranks);
  write_file_durably(attempt_path(run_directory, attempt), formats::to_json(std::move(json)),
                     "attempt");
}

AttemptRecord AttemptRecord::read(const std::filesystem::path& run_directory,
                                  std::uint32_t attempt) {
  const fs::path path = attempt_path(run_directory, attempt);
  const std::string text = read_file(path);
  try {
    const JsonValue json = formats::parse_json_object(text);
    AttemptRecord record;
    record.attempt = attempt;
    record.host = json.get<std::string>("host");
    record.pid = json.get<int>("pid");
    record.ranks = json.get<int>("ranks");
    record.job_id = json.get<std::string>("job_id");
    record.begun = json.get<std::string>("begun");
    record.command = json.get<std::vector<std::string>>("command");
    if (json.find("exit") == nullptr) return record;
    record.ended = json.get<std::string>("ended");
    record.exit = static_cast<ExitCode>(json.get<int>("exit"));
    return record;
  } catch (const formats::JsonError& problem) {
    throw Failure({"E604",
                   ExitCode::corrupt,
                   "the record of an attempt is damaged: " + problem.why(),
                   {"  --> " + path.string()},
                   ""});
  }
}

std::vector<AttemptRecord> attempts_of(const std::filesystem::path& run_directory) {
  std::vector<AttemptRecord> attempts;
  for (const std::uint32_t attempt : numbers_of(run_directory / "attempts", "#.json")) {
    try {
      attempts.push_back(AttemptRecord::read(run_directory, attempt));
    } catch (const Failure& failure) {
      const ExitCode exit = failure.exit_code();  // no_input: the file is missing or unreadable
      if (exit != ExitCode::corrupt && exit != ExitCode::no_input) throw;
      AttemptRecord damaged;
      damaged.attempt = attempt;
      attempts.push_back(damaged);
    }
  }
  return attempts;
}

std::uint32_t last_attempt(const std::filesystem::path& run_directory) {
  std::uint32_t last = 0;
  for (const auto& [folder, form] :
       {std::pair{"attempts", "#.json"}, std::pair{"parts", "attempt_#.rank_#.ledger"}}) {
    const std::vector<std::uint32_t> numbers = numbers_of(run_directory / folder, form);
    if (!numbers.empty()) last = std::max(last, numbers.back());
  }
  return last;
}

std::filesystem::path attempt_path(const std::filesystem::path& run_directory,
                                   std::uint32_t attempt) {
  char name[32];
  std::snprintf(name, sizeof name, "%04u.json", attempt);
  return run_directory / "attempts" / name;
}

}  // namespace mgpu::store
