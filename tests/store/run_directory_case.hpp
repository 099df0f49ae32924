#pragma once

#include <string>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

#include "sample_run.hpp"

namespace mgpu::store {

/// Makes run directories in a folder that all ranks share.
class RunDirectoryTest : public testing::Test {
protected:
  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};

  RunRequest request(const std::string& identity = "one") const {
    RunRequest made;
    made.output = folder_.path() / "outputs";
    made.name = "trial";
    made.job = "train";
    made.identity = identity;
    made.keys = {{"train.lr", identity == "one" ? "0.1" : "0.2"}, {"run.seed", "0"}};
    return made;
  }

  /// Returns the report of a RunDirectory that cannot be opened. Ranks: collective.
  ErrorReport failure_of(const RunRequest& made) {
    try {
      const RunDirectory directory(world_, made);
    } catch (const Failure& failure) {
      return failure.report();
    }
    ADD_FAILURE() << "was opened";
    return {};
  }
};

}  // namespace mgpu::store
