#include <mgpu/cluster/try_together.hpp>

namespace mgpu::cluster {

std::optional<ErrorReport> try_together(const Group& group, const std::function<void()>& step) {
  try {
    run_together(group, step);
  } catch (const CollectiveFailure& error) {
    return error.report();
  }
  return std::nullopt;
}

}  // namespace mgpu::cluster
