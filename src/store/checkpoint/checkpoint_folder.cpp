#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/formats/checkpoint_manifest.hpp>
#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

namespace mgpu::store {
namespace {

constexpr const char* kWhat = "checkpoint";

/// Calls failpoint checkpoint.NAME, where NAME is `name`. If the failpoint sets no error, also
/// calls call(), which returns a std::error_code. Throws Failure E602 after an error.
template <class Call>
void guarded(const char* name, const fs::path& path, Call call) {
  const FailpointAction action = failpoint(std::string(kWhat) + "." + name);
  const int error = action.error != 0 ? action.error : call().value();
  if (error == 0) return;
  throw Failure({"E602",
                 ExitCode::io,
                 std::string("cannot write the checkpoint: ") + std::strerror(error),
                 {"  --> " + path.string()},
                 error == ENOSPC || error == EDQUOT
                     ? "free some space, then start the same command again"
                     : ""});
}

void make_directory(const fs::path& path) {
  guarded("mkdir", path, [&] {
    std::error_code error;
    fs::create_directory(path, error);
    return error;
  });
}

void remove_tree(const fs::path& path) {
  guarded("remove", path, [&] {
    std::error_code error;
    fs::remove_all(path, error);
    return error;
  });
}

/// Writes `text` to the new file `path` through DurableFile, and returns the digest of the file.
formats::SafetensorsDigest write_text(const fs::path& path, const std::string& text) {
  DurableFile file(path, kWhat, DurableFile::Mode::create_new);
  file.write(text);
  file.sync();
  file.close();
  return {text.size(), sha256_hex(text), {}};
}

/// Drops the pages of all files of `directory` from the kernel's page cache, so that the check
/// after the write reads the files from the disk.
void drop_cached_pages(const fs::path& directory) {
  for (const fs::directory_entry& file : fs::directory_iterator(directory)) {
    const FdHandle fd(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (fd) ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

/// The parts of the name of a directory in ckpt/, such as step_00021000.tmp.a0002.
struct StepName {
  std::int64_t step;
  std::string rest;  // "", ".bad", ".tmp.a0002"
};

std::optional<StepName> parse_name(const std::string& name) {
  constexpr std::string_view start = "step_";
  if (!name.starts_with(start)) return std::nullopt;
  StepName parsed{};
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + start.size(), end, parsed.step);
  if (error != std::errc{} || rest - name.data() < 13) return std::nullopt;
  parsed.rest.assign(rest, end);
  return parsed;
}

std::string step_name(std::int64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "step_%08lld", static_cast<long long>(step));
  return text;
}

/// Returns the directories step_NNNNNNNN<rest> whose <rest> starts with `rest_start`, newest step
/// first. If `rest_start` is empty, <rest> must be empty.
std::vector<fs::path> list(const fs::path& folder, std::string_view rest_start) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const auto name = parse_name(entry.path().filename().string());
    if (!name || entry.is_symlink() || !entry.is_directory()) continue;
    const bool fits = rest_start.empty() ? name->rest.empty() : name->rest.starts_with(rest_start);
    if (fits) found.emplace_back(name->step, entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> paths;
  for (auto& [step, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

/// Converts "x/step_00000007.old.a0001" to "x/step_00000007".
fs::path final_path(const fs::path& path) {
  return path.parent_path() / step_name(parse_name(path.filename().string())->step);
}

fs::path with_suffix(const fs::path& path, const std::string& suffix) {
  return path.parent_path() / (path.filename().string() + suffix);
}

}  // namespace

CheckpointFolder::CheckpointFolder(const fs::path& run_directory, int attempt)
    : folder_(run_directory / "ckpt"), attempt_(attempt) {}

std::string CheckpointFolder::suffix(const char* kind) const {
  char text[32];
  std::snprintf(text, sizeof text, ".%s.a%04d", kind, attempt_);
  return text;
}

std::vector<fs::path> CheckpointFolder::finished() const {
  return list(folder_, "");
}

std::vector<fs::path> CheckpointFolder::bad() const {
  return list(folder_, ".bad");
}

void CheckpointFolder::tidy() const {
  for (const fs::path& old : list(folder_, ".old")) {
    if (!fs::exists(final_path(old))) rename_durably(old, final_path(old), kWhat);
  }
  for (const char* kind : {".old", ".tmp"}) {
    for (const fs::path& leftover : list(folder_, kind))
      remove_tree(leftover);
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("last.tmp.") || name.starts_with("best.tmp.")) remove_tree(entry.path());
  }
}

fs::path CheckpointFolder::write(const CheckpointContent& content) const {
  const fs::path directory = folder_ / (step_name(content.state.step) + suffix("tmp"));
  try {
    if (!fs::exists(folder_)) {
      make_directory(folder_);
      sync_path(folder_.parent_path(), kWhat);
    }
    make_directory(directory);
    formats::CheckpointManifest manifest;
    manifest.step = content.state.step;
    const formats::TensorMetadata metadata{{"format", "pt"}};
    manifest.files["model.safetensors"] =
        formats::write_safetensors(directory / "model.safetensors", content.model, metadata);
    manifest.files["trainer.safetensors"] =
        formats::write_safetensors(directory / "trainer.safetensors", content.trainer, metadata);
    manifest.files["state.json"] = write_text(directory / "state.json", to_json(content.state));
    for (const auto& [name, text] : content.files)
      manifest.files[name] = write_text(directory / name, text);
    write_text(directory / formats::kManifestName, to_json(manifest));
    sync_path(directory, kWhat);
    drop_cached_pages(directory);
    const StoredCheckpoint read_back(directory);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(directory, ignored);
    throw;
  }
  return directory;
}

fs::path CheckpointFolder::publish(const fs::path& written, bool is_best) const {
  const fs::path target = final_path(written);
  const fs::path old = with_suffix(target, suffix("old"));
  const bool replaces = fs::exists(target);
  if (replaces) rename_durably(target, old, kWhat);
  rename_durably(written, target, kWhat);
  if (replaces) remove_tree(old);
  point("last", target);
  if (is_best) point("best", target);
  return target;
}

void CheckpointFolder::point(const char* link, const fs::path& target) const {
  const fs::path temporary = folder_ / (link + suffix("tmp"));
  guarded("link", folder_ / link, [&] {
    std::error_code error;
    fs::remove(temporary, error);
    fs::create_symlink(target.filename(), temporary, error);
    return error;
  });
  rename_durably(temporary, folder_ / link, kWhat);
}

void CheckpointFolder::prune(int keep) const {
  std::error_code none;
  const fs::path best = fs::read_symlink(folder_ / "best", none).filename();
  const std::vector<fs::path> all = finished();
  for (std::size_t i = static_cast<std::size_t>(keep); i < all.size(); ++i) {
    if (all[i].filename() == best) continue;
    // The checkpoint is renamed first, so that a crash leaves no half-removed checkpoint under its
    // final name.
    const fs::path doomed = with_suffix(all[i], suffix("tmp"));
    rename_durably(all[i], doomed, kWhat);
    remove_tree(doomed);
  }
}

fs::path CheckpointFolder::set_aside(const fs::path& damaged) const {
  fs::path aside = with_suffix(damaged, ".bad");
  for (int n = 2; fs::exists(aside); ++n)
    aside = with_suffix(damaged, ".bad" + std::to_string(n));
  rename_durably(damaged, aside, kWhat);
  for (const char* link : {"last", "best"}) {
    std::error_code none;
    if (fs::read_symlink(folder_ / link, none) == damaged.filename()) remove_tree(folder_ / link);
  }
  if (const auto left = finished(); !left.empty()) point("last", left.front());
  return aside;
}

}  // namespace mgpu::store
