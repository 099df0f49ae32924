#include "run_record.hpp"

#include <nlohmann/json.hpp>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

namespace mgpu::store {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxBytes = 4 << 20;

[[noreturn]] void fail_record(const char* code, ExitCode exit, const std::string& sentence,
                              const fs::path& path) {
  throw Failure({code, exit, sentence, {"  --> " + path.string()}, ""});
}

}  // namespace

void RunRecord::write(const std::filesystem::path& folder) const {
  const Json json = {{"format", format},     {"name", name}, {"job", job},
                     {"identity", identity}, {"keys", keys}, {"created", created},
                     {"finished", finished}};
  write_file_durably(folder / "run.json", json.dump(2) + "\n", "run record");
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
    const Json json = Json::parse(read_file(path, kMaxBytes));
    RunRecord record;
    record.format = json.at("format").get<int>();
    if (record.format < 1 || record.format > kNewestRunFormat)
      fail_record("E605", ExitCode::data, "run.json was written by a newer version", path);
    record.name = json.at("name").get<std::string>();
    record.job = json.at("job").get<std::string>();
    record.identity = json.at("identity").get<std::string>();
    record.keys = json.at("keys").get<std::map<std::string, std::string>>();
    record.created = json.at("created").get<std::string>();
    record.finished = json.at("finished").get<bool>();
    return record;
  } catch (const Json::exception& problem) {
    fail_record("E604", ExitCode::corrupt, std::string("run.json is damaged: ") + problem.what(),
                path);
  }
}

}  // namespace mgpu::store
