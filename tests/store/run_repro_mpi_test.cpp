// Tests the files of a run directory from which the run can be repeated.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/store/run_dir/repro.hpp>

#include "run_directory_case.hpp"

namespace mgpu::store {
namespace {

TEST_F(RunDirectoryTest, ReproIsWrittenAndKeepsSecrets) {
  RunDirectory directory(world_, request());
  ReproFacts facts;
  facts.resolved_yaml = "run: {name: trial}\n";
  facts.command = {"./mgpu_spmd", "a b.yaml", "hub.token=abc", "model.tokens=step"};
  facts.versions = {{"git", "abc"}};
  facts.seeds = {{"run", 7}};

  write_repro(world_, directory.path(), facts,
              {"host" + std::to_string(world_.rank()), "", "", -1, "0,1"});

  if (world_.rank() == 0) {
    const fs::path repro = directory.path() / "repro";
    EXPECT_EQ(read_file(repro / "command.txt"),
              "./mgpu_spmd 'a b.yaml' 'hub.token=***' model.tokens=step\n");
    EXPECT_EQ(read_file(repro / "config.resolved.yaml"), facts.resolved_yaml);
    const std::string versions = read_file(repro / "versions.json");
    EXPECT_NE(versions.find("\"git\": \"abc\""), std::string::npos) << versions;
    EXPECT_NE(versions.find("\"mpi\": \""), std::string::npos) << versions;
    const std::string ranks = read_file(repro / "ranks.csv");
    EXPECT_EQ(std::count(ranks.begin(), ranks.end(), '\n'), world_.size() + 1);
    EXPECT_NE(ranks.find("\n0,host0,,,-1,\"0,1\"\n"), std::string::npos) << ranks;
    EXPECT_TRUE(fs::exists(repro / "env.txt"));
    EXPECT_EQ(read_file(repro / "seeds.json"), "{\n  \"run\": 7\n}\n");
  }
  world_.barrier();
}

TEST_F(RunDirectoryTest, TheEnvironmentIsCutToWhatMatters) {
  const char* const environment[] = {"SLURM_JOB_ID=7",
                                     "HOME=/root",
                                     "MGPU_API_KEY=abc",
                                     "OMP_PLACES=a\nb\x1b[0m",
                                     "NCCL_DEBUG=INFO",
                                     "OMPI",
                                     nullptr};

  EXPECT_EQ(environment_text(environment),
            "NCCL_DEBUG=INFO\nOMP_PLACES=a\\x0Ab\\x1B[0m\nSLURM_JOB_ID=7\n");
}

}  // namespace
}  // namespace mgpu::store
