#include <vector>

#include <mgpu/report/banner.hpp>
#include <mgpu/run/worker_table.hpp>

namespace mgpu::run {

void print_workers(const RunContext& run, const std::string& what) {
  const cluster::Group& world = run.topology.world();
  const bool on_gpu = run.device.kind == DeviceKind::cuda;
  const std::vector<std::int32_t> numbers =
      world.all_gather(std::int32_t{on_gpu ? run.device.index : world.rank()});
  const std::vector<std::int32_t> workers =
      world.all_gather(std::int32_t{run.topology.group_index()});
  report::WorkerBlock block;
  block.title = (on_gpu ? "Multi-GPU " : "Multi-Rank ") + what;
  block.device = run.device.kind;
  block.workers.resize(static_cast<std::size_t>(run.topology.num_groups()));
  for (std::size_t rank = 0; rank < numbers.size(); ++rank)
    block.workers[static_cast<std::size_t>(workers[rank])].push_back(
        {run.topology.places()[rank].host, numbers[rank]});
  run.print(report::worker_block(block));
}

}  // namespace mgpu::run
