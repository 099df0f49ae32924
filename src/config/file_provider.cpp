#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/config/file_provider.hpp>
#include <mgpu/config/nearest_name.hpp>
#include <mgpu/config/yaml_document.hpp>
#include <mgpu/formats/hub_cache.hpp>

namespace mgpu {
namespace {

// One byte more than a configuration may have, so that the parser can refuse a longer file.
constexpr std::size_t kReadBytes = YamlLimits::kBytes + 1;

std::string read_stream(std::istream& stream) {
  std::string bytes(kReadBytes, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

[[noreturn]] void refuse_pipe(const fs::path& path, const std::string& why) {
  throw Failure(
      {"E603", ExitCode::no_input, "cannot read a file: " + why, {"  --> " + path.string()}, ""});
}

/// Reads a named pipe, such as the pipe of <(...) in bash.
/// Errors: Failure E603 (exit 66) if the pipe cannot be opened, or if no process writes for 10 s.
std::string read_pipe(const fs::path& path) {
  const FdHandle fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) refuse_pipe(path, std::strerror(errno));
  std::string bytes(kReadBytes, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    pollfd wait{fd.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, 10'000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) refuse_pipe(path, "no process writes into this pipe");
    const ssize_t count = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (count == 0) break;
    if (count > 0) size += static_cast<std::size_t>(count);
    if (count < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  bytes.resize(size);
  return bytes;
}

/// Returns the sorted paths of the YAML files that `Iterator` finds in `folder`. Each path begins
/// with `folder`.
template <class Iterator>
std::vector<std::string> yaml_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code none;
  for (const fs::directory_entry& entry :
       Iterator(folder, fs::directory_options::skip_permission_denied, none))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Returns the YAML file that the user probably means by `path`, which does not exist. This is a
/// file with a similar name in the folder of `path`, or else a file with the name of `path` in
/// conf/ or its subfolders. If there are several, returns the one with the smallest
/// edit_distance(). Returns "" if there is no such file.
std::string similar_file(const fs::path& path) {
  std::vector<std::string> names;
  for (const std::string& file : yaml_files<fs::directory_iterator>(path.parent_path()))
    names.push_back(fs::path(file).filename().string());
  const std::string nearest = nearest_name(path.filename().string(), names);
  if (!nearest.empty()) return (path.parent_path() / nearest).string();

  std::vector<std::string> files = yaml_files<fs::recursive_directory_iterator>("conf");
  std::erase_if(files, [&](const fs::path& file) { return file.filename() != path.filename(); });
  const std::string given = path.lexically_relative(fs::current_path()).string();
  const auto best = std::ranges::min_element(
      files, {}, [&](const std::string& file) { return edit_distance(given, file); });
  return best == files.end() ? "" : *best;
}

/// Returns a help line, which names the first of these that exists:
/// - a similar file
/// - the YAML files in the folder of `path`
/// - the YAML files in conf/
/// - the folder at which paths of the command line start
std::string help_for_missing(const fs::path& path) {
  const std::string similar = similar_file(path);
  if (!similar.empty()) return "did you mean " + similar + "?";
  for (const fs::path& folder : {path.parent_path(), fs::path("conf")}) {
    std::string text;
    for (const std::string& file : yaml_files<fs::directory_iterator>(folder))
      text += (text.empty() ? "there are " : ", ") + fs::proximate(file).string();
    if (!text.empty()) return text;
  }
  return "a path of the command line starts at " + fs::current_path().string();
}

std::string read_start(const fs::path& path) {
  if (path == "-") return read_stream(std::cin);
  std::error_code unknown;
  if (fs::status(path, unknown).type() == fs::file_type::not_found) {
    throw Failure({"E603",
                   ExitCode::no_input,
                   "cannot read a file: No such file or directory",
                   {"  --> " + path.string()},
                   help_for_missing(path)});
  }
  if (fs::is_fifo(path, unknown)) return read_pipe(path);
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (!file || fs::is_directory(path, ignored)) return read_file(path);  // throws, and says why
  return read_stream(file);
}

}  // namespace

FileProvider::FileProvider(std::function<std::string(const Step&)> share,
                           std::function<void(const std::function<void()>&)> run_together)
    : share_(std::move(share)), run_together_(std::move(run_together)) {}

FileProvider FileProvider::alone() {
  return {[](const Step& step) { return step(); },
          [](const std::function<void()>& step) { step(); }};
}

ConfigSources FileProvider::sources(std::string file) const {
  ConfigSources sources;
  sources.file = std::move(file);
  sources.working_directory = working_directory();
  sources.variable = [this](const std::string& name) { return variable(name); };
  sources.find_model = [this](const fs::path& path, const std::string& name) {
    return find_model(path, name);
  };
  sources.read = [this](const fs::path& path) { return read(path); };
  return sources;
}

std::string FileProvider::read(const fs::path& path) const {
  return share_([&] { return read_start(path); });
}

fs::path FileProvider::working_directory() const {
  return share_([] { return fs::current_path().string(); });
}

std::string FileProvider::variable(const std::string& name) const {
  return share_([&] {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  });
}

std::string FileProvider::find_model(const fs::path& path, const std::string& name) const {
  return share_([&] {
    std::error_code unknown;
    if (fs::exists(path, unknown)) return std::string();
    const std::optional<formats::HubCopy> copy = formats::find_hub_copy(name);
    // Here, it is enough that config.json exists, because a plan of a run needs no weights. The run
    // itself checks whether the copy is complete.
    const bool is_usable = copy && fs::is_regular_file(copy->folder / "config.json", unknown);
    return is_usable ? copy->folder.string() : std::string();
  });
}

}  // namespace mgpu
