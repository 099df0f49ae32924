#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/report/phases.hpp>
#include <mgpu/report/step_pace.hpp>
#include <mgpu/run/rank_memory.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/results/seal.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

// The file run.h5 contains the timings, throughput and attempts of a run. The results of the run
// are in results.h5.
namespace mgpu::app {

/// Facts about one rank at the end of a run, for table /ranks of run.h5.
struct RankRecord {
  std::string host;
  std::string gpu_uuid;      // "" on the CPU
  std::string gpu_name;      // "" on the CPU
  std::int64_t samples = 0;  // samples that the rank processed in this attempt
};

/// Returns the records of all ranks, in rank order, on rank 0. On other ranks the list is empty.
///
/// Ranks:  collective over `world`.
std::vector<RankRecord> gather_rank_records(const cluster::Group& world, const RankRecord& mine);

/// The data from which write_run_tables() makes run.h5. Only the data of rank 0 is used.
struct RunTables {
  std::vector<store::Attribute> attributes;  // attributes of the root group of run.h5
  std::vector<RankRecord> ranks;
  std::vector<run::RankMemory> memory;
  report::PhaseTable phases;
  report::StepPace pace;
  std::int64_t samples_per_step = 0;
  int exit = -1;                           // exit code of this attempt; -1 when it is not known
  std::vector<store::ChunkWork> chunks{};  // finished chunks of all attempts
};

/// Writes run.h5 into the run directory. Tables /ranks, /timing and /throughput describe this
/// attempt. Table /attempts has a row for each attempt of the run, and table /chunks a row for each
/// finished chunk.
///
/// Ranks:  collective over `world`.
/// Errors: those of store::seal() and store::attempts_of(), on all ranks.
void write_run_tables(const cluster::Group& world, const store::RunDirectory& directory,
                      const RunTables& tables);

}  // namespace mgpu::app
