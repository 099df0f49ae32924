#pragma once

#include <optional>
#include <string>

#include <support/temporary_folder.hpp>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::lm {

/// Sizes of a Llama with random weights.
struct MadeModel {
  int layers = 5;
  int width = 48;
  int inner = 80;
  int heads = 6;
  int kv_heads = 3;
  int vocab = 301;
  bool is_tied = false;
  double head_spread = 0.2;  // standard deviation of the head, which makes distributions sharp
  int scores = 0;  // outputs of a head `score` in place of the vocabulary's; 0: no such head
  std::string more_config{};  // more fields of config.json, each after a comma
};

/// Writes `folder`/config.json and model.safetensors. Equal `model` gives equal weights.
void make_folder(const fs::path& folder, const MadeModel& model);

/// Runs make_folder() in another process, so that the heap of this process does not change. Call it
/// before this process starts threads.
void make_elsewhere(const fs::path& folder, const MadeModel& model);

/// A folder that rank 0 makes and later removes, and all ranks can read. Ranks: the constructor and
/// the destructor are collective over `world`.
class MadeFolder {
public:
  MadeFolder(const cluster::Group& world, const MadeModel& model) : world_(world) {
    if (world.rank() == 0) {
      owner_.emplace();
      make_folder(owner_->path(), model);
    }
    path_ = world.broadcast(owner_ ? owner_->path().string() : std::string(), 0);
  }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  ~MadeFolder() { world_.barrier(); }

  const fs::path& path() const { return path_; }

private:
  const cluster::Group& world_;
  std::optional<testing_support::TemporaryFolder> owner_;
  fs::path path_;
};

}  // namespace mgpu::lm
