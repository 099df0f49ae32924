#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/formats/weight_files.hpp>

namespace mgpu::formats {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{256} << 20;

[[noreturn]] void refuse_index(const fs::path& index, const std::string& why) {
  throw Failure({"E624",
                 ExitCode::data,
                 "the weights of a model do not fit together: " + why,
                 {"  --> " + index.string()},
                 "fetch the folder again"});
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

/// Returns the path of a shard that the index names. A shard may be a symbolic link into the
/// folder. In a snapshot of the Hub's cache, a shard may also be a link into the blobs of the same
/// model.
///
/// Errors: Failure E624 if the name is not a plain file name, or if the file is a link to any other
///         place.
fs::path shard_path(const fs::path& folder, const fs::path& index, const std::string& name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
    refuse_index(index, "`" + printable(name) + "` is not the name of a file of the folder");
  }
  const fs::path path = folder / name;
  if (!fs::is_symlink(path)) return path;
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  const fs::path target = fs::weakly_canonical(path, error);
  // models--NAME/snapshots/COMMIT/model.safetensors is a link to models--NAME/blobs/SHA256.
  const bool is_snapshot = home.parent_path().filename() == "snapshots";
  const fs::path blobs = home.parent_path().parent_path() / "blobs";
  if (lies_in(target, home) || (is_snapshot && lies_in(target, blobs))) return path;
  refuse_index(index, "`" + printable(name) + "` is a link that leads out of the folder");
}

/// Returns whether the file's extension is one that PyTorch uses for pickled weights.
bool is_pickle(const fs::path& file) {
  const std::string kind = file.extension();
  return kind == ".bin" || kind == ".pt" || kind == ".pth" || kind == ".ckpt";
}

/// Throws a Failure that explains why `folder` has no readable weights.
[[noreturn]] void refuse_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw Failure({"E603",
                   ExitCode::no_input,
                   "a model folder does not exist",
                   {"  --> " + folder.string()},
                   ""});
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!is_pickle(entry.path())) continue;
    throw Failure({"E622",
                   ExitCode::data,
                   "the model has its weights as a PyTorch pickle, which can run code when it "
                   "is read",
                   {"  --> " + entry.path().string()},
                   "convert it to safetensors: in Python, transformers' "
                   "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)"});
  }
  throw Failure({"E603",
                 ExitCode::no_input,
                 std::string("a model folder has neither ") + kSingle + " nor " + kIndex,
                 {"  --> " + folder.string()},
                 "name the folder that has config.json and the weights"});
}

/// Reads `weight_map` of the index, which maps the names of tensors to the names of their files.
std::map<std::string, std::string> weight_map(const fs::path& index) {
  const JsonValue root = read_json_object(index, kMaxIndexBytes);
  const JsonValue* map = root.find("weight_map");
  if (map == nullptr || map->members() == nullptr) refuse_index(index, "it has no `weight_map`");
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : *map->members()) {
    if (file.text() == nullptr) refuse_index(index, "a file of `weight_map` is not a text");
    files.emplace(tensor, *file.text());
  }
  return files;
}

}  // namespace

bool has_safetensors(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kSingle, error)) return true;
  const auto is_shard = [](const fs::directory_entry& entry) {
    return entry.path().extension() == ".safetensors";
  };
  return fs::exists(folder / kIndex, error) &&
         std::ranges::any_of(fs::directory_iterator(folder, error), is_shard);
}

bool has_weight_files(const fs::path& folder) {
  std::error_code error;
  if (has_safetensors(folder)) return true;
  const fs::directory_iterator entries(folder, error);
  return std::ranges::any_of(
      entries, [](const fs::directory_entry& entry) { return is_pickle(entry.path()); });
}

WeightFiles::WeightFiles(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  if (fs::exists(folder_ / kSingle, error)) {
    files_.push_back(std::make_unique<SafetensorsFile>(folder_ / kSingle));
    for (const StoredTensor& tensor : files_.front()->tensors())
      tensors_.emplace(tensor.name, &tensor);
  } else if (fs::exists(folder_ / kIndex, error)) {
    open_shards(folder_ / kIndex);
  } else {
    refuse_folder(folder_);
  }
  if (fs::exists(folder_ / kManifestName, error)) check_with_manifest();
}

void WeightFiles::check_with_manifest() {
  manifest_ = read_manifest(folder_);
  std::error_code error;
  for (const auto& [name, digest] : manifest_->files) {
    const fs::path path = folder_ / name;
    if (fs::path(name).filename() != name || !fs::is_regular_file(path, error)) continue;
    check_size(path, digest);
    if (digest.tensors.empty()) check_sha256(path, digest);
  }
}

void WeightFiles::check(const StoredTensor& tensor) const {
  if (!manifest_) return;
  for (const std::unique_ptr<SafetensorsFile>& file : files_) {
    const auto digest = manifest_->files.find(file->path().filename().string());
    if (digest == manifest_->files.end() || file->find(tensor.name) != &tensor) continue;
    check_tensor(file->path(), tensor.name, crc32c(tensor.bytes), digest->second);
  }
}

void WeightFiles::open_shards(const fs::path& index) {
  std::map<std::string, const SafetensorsFile*> opened;
  const std::map<std::string, std::string> map = weight_map(index);
  for (const auto& [tensor, file] : map) {
    if (opened.contains(file)) continue;
    files_.push_back(std::make_unique<SafetensorsFile>(shard_path(folder_, index, file)));
    opened.emplace(file, files_.back().get());
  }
  for (const auto& [tensor, file] : map) {
    const StoredTensor* found = opened.at(file)->find(tensor);
    if (found == nullptr) {
      refuse_index(index, "`" + printable(tensor) + "` is not in `" + printable(file) + "`");
    }
    tensors_.emplace(found->name, found);
  }
  for (const auto& [name, file] : opened) {
    for (const StoredTensor& tensor : file->tensors()) {
      if (find(tensor.name) != &tensor) {
        refuse_index(index, "the index does not place `" + printable(tensor.name) + "` of `" +
                                printable(name) + "` there");
      }
    }
  }
}

const StoredTensor* WeightFiles::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

}  // namespace mgpu::formats
