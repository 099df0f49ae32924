#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <mgpu/base/crash_file.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/secrets.hpp>

namespace mgpu {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxLineBytes = 4096;  // longer lines are cut

/// Returns the rest of the first line that starts with `name` and ": ", or "" if there is no such
/// line. Searches only the lines of a crash file before its first section ("--- what").
std::string field(std::string_view text, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ": ";
  const std::size_t at = text.substr(0, text.find("\n--- ")).find(start);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + start.size());
  return std::string(text.substr(0, text.find('\n')));
}

std::string section(std::string_view text, std::string_view name) {
  const std::string start = "\n--- " + std::string(name) + "\n";
  const std::size_t at = text.find(start);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + start.size());
  return std::string(text.substr(0, text.find("\n--- ")));
}

std::optional<CrashReport> read_crash(const fs::path& path) {
  try {
    const std::string text = read_file(path, kMaxBytes);
    if (!text.starts_with("mgpu_spmd crash file ")) return std::nullopt;
    CrashReport crash;
    crash.path = path;
    crash.unix_time = std::strtod(field(text, "time").c_str(), nullptr);
    crash.rank = std::atoi(field(text, "rank").c_str());
    crash.host = field(text, "host");
    crash.pid = field(text, "pid");
    crash.phase = field(text, "phase");
    crash.what = section(text, "what");
    return crash;
  } catch (const Failure&) {
    return std::nullopt;  // an unreadable file must not hide the readable ones
  }
}

std::string clean_line(std::string_view line) {
  std::string clean = redact(line);
  for (char& c : clean) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  }
  return clean;
}

}  // namespace

std::string without_secrets(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    clean += clean_line(text.substr(0, std::min(length, kMaxLineBytes)));
    if (length > kMaxLineBytes) clean += "...";
    if (length < text.size()) clean += '\n';
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return clean;
}

std::vector<CrashReport> crashes(const fs::path& directory, double not_before) {
  std::vector<CrashReport> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("rank_") || !name.ends_with(".txt")) continue;
    const std::optional<CrashReport> crash = read_crash(entry.path());
    if (crash && crash->unix_time >= not_before) found.push_back(*crash);
  }
  return found;
}

}  // namespace mgpu
