#include <mgpu/cluster/shared_files.hpp>
#include <mgpu/cluster/try_together.hpp>

namespace mgpu::cluster {

FileProvider shared_files(const Group& group) {
  return {[&group](const FileProvider::Step& step) { return on_rank_0(group, step); },
          [&group](const std::function<void()>& step) { run_together(group, step); }};
}

}  // namespace mgpu::cluster
