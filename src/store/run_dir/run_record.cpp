#include "run_record.hpp"

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::store {
namespace {

using formats::JsonValue;

constexpr std::uint64_t kMaxBytes = 4 << 20;

[[noreturn]] void fail_record(const char* code, ExitCode exit, const std::string& sentence,
                              const fs::path& path) {
  throw Failure({code, exit, sentence, {"  --> " + path.string()}, ""});
}

}  // namespace

void RunRecord::write(const std::filesystem::path& folder) const {
  const JsonValue::Members json{{"created", created},
                                {"finished", finished},
                                {"format", format},
                                {"identity", identity},
                                {"inputs", JsonValue::Members(inputs.begin(), inputs.end())},
                                {"job", job},
                                {"keys", JsonValue::Members(keys.begin(), keys.end())},
                                {"name", name}};
  write_file_durably(folder / "run.json", formats::to_json(json), "run record");
}

RunRecord RunRecord::read(const std::filesystem::path& folder) {
  const fs::path path = folder / "run.json";
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    fail_record("E609", ExitCode::no_input,
                fs::exists(folder, error) ? "this is not a run directory: it has no run.json"
                                          : "there is no such run directory",
                folder);
  }
  try {
    const JsonValue json = formats::parse_json_object(read_file(path, kMaxBytes));
    RunRecord record;
    record.format = json.get<int>("format");
    if (record.format < 1 || record.format > kNewestRunFormat)
      fail_record("E605", ExitCode::data, "run.json was written by a newer version", path);
    record.name = json.get<std::string>("name");
    record.job = json.get<std::string>("job");
    record.identity = json.get<std::string>("identity");
    record.keys = json.get<std::map<std::string, std::string>>("keys");
    if (json.find("inputs") != nullptr)  // earlier versions did not write it
      record.inputs = json.get<std::map<std::string, std::string>>("inputs");
    record.created = json.get<std::string>("created");
    record.finished = json.get<bool>("finished");
    return record;
  } catch (const formats::JsonError& problem) {
    fail_record("E604", ExitCode::corrupt, "run.json is damaged: " + problem.why(), path);
  }
}

}  // namespace mgpu::store
