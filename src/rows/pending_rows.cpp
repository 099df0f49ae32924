#include <algorithm>
#include <string>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/rows/pending_rows.hpp>
#include <mgpu/rows/row_problems.hpp>
#include <mgpu/run/quarantined_rows.hpp>

namespace mgpu::rows {

std::int64_t tokenize_pending(run::RunContext& run, const run::ChunkPhase& phase,
                              const fs::path& file, const RowsTokenizer& tokenize) {
  const cluster::Group& world = run.topology.world();
  const auto pending = run::pending_chunks(phase, run.journal.done(phase.id));
  formats::LineProblems mine(file);
  std::int64_t longest = 0;
  cluster::run_together(world, [&] {
    for (const run::Chunk& chunk : run::static_share(pending, world.rank(), world.size()))
      run::work_on_rows(run, phase, chunk,
                        {[&](std::int64_t first, std::int64_t count) {
                           longest = std::max(longest, tokenize(first, count, mine));
                         },
                         [](std::int64_t, const std::string&) {}});
  });
  const formats::LineProblems all = gather_problems(world, file, mine);
  cluster::run_together(world, [&] { all.throw_if_any(input::kBadRowHelp); });
  return world.all_reduce(longest, cluster::ReduceOp::max);
}

}  // namespace mgpu::rows
