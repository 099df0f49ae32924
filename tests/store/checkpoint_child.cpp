// A program that only loads and saves checkpoints, for tests that kill it or fill its disk.
//
// checkpoint_child local|mpi RUN_DIRECTORY STEP...   loads the newest checkpoint, checks it,
// prints "loaded N" (-1: none), then saves the STEPs. Exit codes are those of the program.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpi.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/store/checkpoint/checkpoint_store.hpp>

#include "checkpoint_content.hpp"

namespace {

using namespace mgpu;
using namespace mgpu::store;

constexpr int kKeep = 2;

bool is_best(std::int64_t step) {
  return step == 1;
}

void check_whole(const CheckpointState& state, const TinyTraining& training) {
  if (training.is_at(state.step) && state == TinyTraining(state.step).state()) return;
  throw Error("the checkpoint of step " + std::to_string(state.step) + " is not whole");
}

/// Does rank 0's part of loads and saves, without MPI, so that hundreds of deaths take only
/// seconds.
void run_alone(const fs::path& root, const std::vector<std::int64_t>& steps) {
  const CheckpointFolder folder(root, 1);
  folder.tidy();
  const auto found = folder.finished();
  for (const fs::path& path : found)
    const StoredCheckpoint every_one_is_whole(path);
  std::printf("loaded %ld\n",
              found.empty() ? -1L : static_cast<long>(StoredCheckpoint(found[0]).state().step));
  for (const std::int64_t step : steps) {
    TinyTraining training(step);
    const auto model = training.model();
    const auto trainer = training.trainer();
    folder.tidy();
    folder.publish(folder.write({model, trainer, training.state()}), is_best(step));
    folder.prune(kKeep);
  }
}

void run_in_group(const fs::path& root, const std::vector<std::int64_t>& steps) {
  const cluster::Group world = cluster::Group::world();
  set_failpoint_rank(world.rank());
  const CheckpointStore store(world, root, {1, kKeep});
  TinyTraining loaded;
  const Restored restored = store.load_newest(loaded.model(), loaded.trainer());
  if (restored.state) check_whole(*restored.state, loaded);
  if (world.rank() == 0) {
    std::printf("loaded %ld\n", restored.state ? static_cast<long>(restored.state->step) : -1L);
    std::fflush(stdout);
  }
  for (const std::int64_t step : steps) {
    TinyTraining training(step);
    const auto model = training.model();
    const auto trainer = training.trainer();
    store.save({model, trainer, training.state()}, is_best(step));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool alone = argc > 1 && std::string(argv[1]) == "local";
  if (argc < 3) return static_cast<int>(ExitCode::usage);
  std::vector<std::int64_t> steps;
  for (int i = 3; i < argc; ++i)
    steps.push_back(std::atol(argv[i]));
  if (!alone) MPI_Init(&argc, &argv);
  int code = 0;
  try {
    alone ? run_alone(argv[2], steps) : run_in_group(argv[2], steps);
  } catch (const std::exception& e) {
    const ErrorReport report = report_of(e);
    code = static_cast<int>(report.exit);
    std::fprintf(stderr, "%s\n", render(report).c_str());
  }
  if (!alone) MPI_Finalize();
  return code;
}
