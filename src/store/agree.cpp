#include "agree.hpp"

#include <utility>

namespace mgpu::store {

std::optional<Report> agree(const cluster::Group& group, const std::function<void()>& step) {
  try {
    cluster::run_together(group, step);
  } catch (const cluster::TogetherError& error) {
    return error.report();
  }
  return std::nullopt;
}

std::string on_rank_0(const cluster::Group& group, const std::function<std::string()>& step) {
  std::string text;
  cluster::run_together(group, [&] {
    if (group.rank() == 0) text = step();
  });
  return group.broadcast(std::move(text), 0);
}

}  // namespace mgpu::store
