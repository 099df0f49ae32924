// Measures how busy the stages of a pipeline are during generation. Usage: mpirun -np RANKS
// pipeline_bench [LAYERS WIDTH BATCH NEW]. Prints one line of JSON.
//
// "value" is the share of the run in which a stage worked, for the stage with the smallest share.
// It is meaningful if each rank has a processor. "replayed" is this share computed from the CPU
// times of the passes, as if each rank had a processor. "stages" has the CPU seconds of each stage.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include <mgpu/cluster/mpi_session.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

#include "lm/made_folder.hpp"
#include "pipeline_replay.hpp"

namespace {

using namespace mgpu;
using namespace mgpu::lm;

std::vector<std::vector<std::int64_t>> make_prompts(std::int64_t count, std::int64_t tokens,
                                                    std::int64_t vocab) {
  std::vector<std::vector<std::int64_t>> prompts(static_cast<std::size_t>(count));
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t t = 0; t < tokens; ++t)
      prompts[static_cast<std::size_t>(b)].push_back(3 +
                                                     (b * 131 + t * t * 7 + t * 29) % (vocab - 3));
  return prompts;
}

/// Generates twice. The first run allocates the cache, which a job keeps from chunk to chunk. The
/// group's clock measures only the second run. Ranks: collective.
void generate_twice(ModelGroup& group, std::int64_t batch, std::int64_t new_tokens) {
  GenerationConfig config;
  config.max_new_tokens = new_tokens;
  config.batch_size = batch;
  const auto ids = make_prompts(batch, 32, group.model().config().vocab);
  std::vector<Prompt> prompts;
  for (std::size_t b = 0; b < ids.size(); ++b)
    prompts.push_back({b, ids[b], 1});
  Generator generator(group.model(), config);
  generator.run(prompts);
  group.start_clock();
  generator.run(prompts);
}

/// Returns the seconds of the passes of all ranks, [ranks][passes]. Ranks: collective.
std::vector<std::vector<double>> all_passes(const cluster::Group& world,
                                            const std::vector<double>& mine) {
  const std::string_view bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * 8);
  std::vector<std::vector<double>> all;
  for (const std::string& theirs : world.all_gather(bytes)) {
    const auto* first = reinterpret_cast<const double*>(theirs.data());
    all.emplace_back(first, first + theirs.size() / 8);
  }
  return all;
}

std::string seconds_of(const std::vector<std::vector<double>>& stages) {
  std::ostringstream text;
  for (const std::vector<double>& passes : stages)
    text << (text.tellp() > 0 ? ", " : "") << std::accumulate(passes.begin(), passes.end(), 0.0);
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int index, int fallback) {
    return argc > index ? std::atoi(argv[index]) : fallback;
  };
  const cluster::MpiSession session;
  const cluster::Group world = cluster::Group::world();
  at::set_num_threads(1);
  const int width = number(2, 288);
  const MadeFolder folder(world, {.layers = number(1, 23),
                                  .width = width,
                                  .inner = width * 8 / 3,
                                  .heads = 6,
                                  .kv_heads = 6,
                                  .vocab = 4000});
  const cluster::Topology topology(world, world.size());
  ModelGroup group = ModelGroup::open(folder.path(), topology, {});
  generate_twice(group, number(3, 16 * world.size()), number(4, 64));

  const StageTimes times = group.times();
  const double own = world.size() == 1 ? 1.0 : times.busy_s / (times.busy_s + times.waiting_s);
  const double least = world.all_reduce(own, cluster::ReduceOp::min);
  double replayed = 1.0;
  const auto all = all_passes(world, times.passes);
  if (world.size() > 1) replayed = bench::replayed_busy_share(all, world.size() + 1);
  if (world.rank() == 0) {
    std::printf(
        "{\"name\": \"pipeline/busy\", \"ranks\": %d, \"value\": %.3f, \"replayed\": %.3f, "
        "\"passes\": %zu, \"stages\": [%s]}\n",
        world.size(), least, replayed, times.passes.size(), seconds_of(all).c_str());
  }
  return 0;
}
