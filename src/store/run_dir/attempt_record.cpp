#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include <mgpu/base/file_io.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>
#include <mgpu/store/run_dir/repro.hpp>

#include "store/file_number.hpp"

namespace mgpu::store {
namespace {

using Json = nlohmann::json;

std::vector<std::uint32_t> numbers_of(const fs::path& run_directory) {
  std::vector<std::uint32_t> numbers;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(run_directory / "attempts", error)) {
    const std::string name = entry.path().filename().string();
    std::string_view rest = name;
    const auto number = take_file_number(rest, "");
    if (number && rest == ".json") numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

void AttemptRecord::write(const std::filesystem::path& run_directory) const {
  std::vector<std::string> words;
  for (const std::string& word : command)
    words.push_back(redacted_argument(word));
  Json json = {{"attempt", attempt}, {"host", host},   {"pid", pid},      {"ranks", ranks},
               {"job_id", job_id},   {"begun", begun}, {"command", words}};
  if (exit) {
    json["ended"] = ended;
    json["exit"] = static_cast<int>(*exit);
  }
  write_file_durably(attempt_path(run_directory, attempt), json.dump(2) + "\n", "attempt");
}

AttemptRecord AttemptRecord::read(const std::filesystem::path& run_directory,
                                  std::uint32_t attempt) {
  const fs::path path = attempt_path(run_directory, attempt);
  const std::string text = read_file(path);
  try {
    const Json json = Json::parse(text);
    AttemptRecord record;
    record.attempt = attempt;
    record.host = json.at("host").get<std::string>();
    record.pid = json.at("pid").get<int>();
    record.ranks = json.at("ranks").get<int>();
    record.job_id = json.at("job_id").get<std::string>();
    record.begun = json.at("begun").get<std::string>();
    record.command = json.at("command").get<std::vector<std::string>>();
    if (!json.contains("exit")) return record;
    record.ended = json.at("ended").get<std::string>();
    record.exit = static_cast<ExitCode>(json.at("exit").get<int>());
    return record;
  } catch (const Json::exception& problem) {
    throw Failure({"E604",
                   ExitCode::corrupt,
                   std::string("the record of an attempt is damaged: ") + problem.what(),
                   {"  --> " + path.string()},
                   ""});
  }
}

std::vector<AttemptRecord> attempts_of(const std::filesystem::path& run_directory) {
  std::vector<AttemptRecord> attempts;
  for (const std::uint32_t attempt : numbers_of(run_directory))
    attempts.push_back(AttemptRecord::read(run_directory, attempt));
  return attempts;
}

std::uint32_t last_attempt(const std::filesystem::path& run_directory) {
  const std::vector<std::uint32_t> numbers = numbers_of(run_directory);
  return numbers.empty() ? 0 : numbers.back();
}

std::filesystem::path attempt_path(const std::filesystem::path& run_directory,
                                   std::uint32_t attempt) {
  char name[32];
  std::snprintf(name, sizeof name, "%04u.json", attempt);
  return run_directory / "attempts" / name;
}

}  // namespace mgpu::store
