// Runs one rank of a program, which ends in the way that the argument names. mpi_session_test.cpp
// starts this program.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/cluster/mpi_session.hpp>

namespace {

using namespace mgpu;           // NOLINT: a program of one file
using namespace mgpu::cluster;  // NOLINT

void fail() {
  throw Failure({"E602", ExitCode::io, "disk full", {}, ""});
}

void work(std::string_view how, const Group& world) {
  const bool is_last = world.rank() == world.size() - 1;
  if (how == "count" && world.rank() == 0) {
    std::printf("%d ranks, io %s\n", world.size(), std::getenv("OMPI_MCA_io"));
  }
  if (how == "alone" && is_last) fail();
  if (how == "alone") world.barrier();
  if (how == "together") {
    run_together(world, [&] {
      if (is_last) fail();
    });
  }
  if (how == "failpoint" && failpoint("session.probe").error != 0) {
    std::printf("rank %d\n", world.rank());
  }
}

ExitCode run(std::string_view how) {
  const MpiSession session;
  const Group world = Group::world();
  try {
    work(how, world);
    return ExitCode::done;
  } catch (const CollectiveFailure& e) {
    if (world.rank() == 0) std::printf("%s\n", render(e.report()).c_str());
    return e.exit_code();
  }
}

}  // namespace

int main(int /*argc*/, char** argv) {
  try {
    check_launch();
    return static_cast<int>(run(argv[1]));
  } catch (const Failure& e) {
    std::printf("%s\n", render(e.report()).c_str());
    abort_world(e.exit_code());
  }
}
