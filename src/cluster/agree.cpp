#include <utility>

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

std::string on_rank_0(const Group& group, const std::function<std::string()>& step) {
  std::string text;
  run_together(group, [&] {
    if (group.rank() == 0) text = step();
  });
  return group.broadcast(std::move(text), 0);
}

}  // namespace mgpu::cluster
