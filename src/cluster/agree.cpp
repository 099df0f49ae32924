#include <mgpu/cluster/agree.hpp>

namespace mgpu::cluster {

std::optional<Report> agree(const Group& group, const std::function<void()>& step) {
  try {
    run_together(group, step);
  } catch (const TogetherError& error) {
    return error.report();
  }
  return std::nullopt;
}

}  // namespace mgpu::cluster
