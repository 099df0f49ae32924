#include <algorithm>
#include <array>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/run/chunk_keys.hpp>

#ifndef MGPU_MORE_JOBS
#define MGPU_MORE_JOBS(line)
#endif

// The registry of jobs, in the order in which jobs() returns them. The folder of job NAME defines
// NAME_job(). An extension of this program lists its jobs in MGPU_MORE_JOBS.
#define MGPU_JOBS(line)                                                                  \
  line(train) line(generate) line(teacher) line(classify) line(collect) line(experiment) \
      MGPU_MORE_JOBS(line)

namespace mgpu::jobs {

#define MGPU_DECLARE(name) JobSpec name##_job();
MGPU_JOBS(MGPU_DECLARE)

namespace {

/// Records in `table_of_keys` that the job reads the keys of `add_keys`.
void note_reader(const JobSpec& job, AddKeys add_keys, KeyTable& table_of_keys) {
  KeyTable group;
  add_keys(group);
  for (const KeySpec& key : group.keys())
    table_of_keys.add_reader(key.name, std::string(job.name));
}

}  // namespace

store::UpgradeChunk Job::upgrade_chunks() const {
  throw Error("the runs of this job have no parts");
}

std::span<const JobSpec> jobs() {
#define MGPU_ENTRY(name) name##_job(),
  static const std::array kJobs = {MGPU_JOBS(MGPU_ENTRY)};
  return kJobs;
}

const JobSpec& job_of(const Config& config) {
  const auto all = jobs();
  const auto found = std::ranges::find(all, read_job_name(config), &JobSpec::name);
  if (found == all.end()) throw Error("a job of the key table is not in the table of jobs");
  return *found;
}

Config with_chunk_size(const Config& config) {
  if (!run::has_auto_chunk_size(config)) return config;
  const auto by_data = job_of(config).auto_chunk_size;
  const std::int64_t size = by_data == nullptr ? run::kLargestAutoChunk : by_data(config);
  return config.with("run.chunk_size", std::to_string(size));
}

Config with_chunk_size(const cluster::Group& world, const Config& config) {
  const std::string size =
      cluster::on_rank_0(world, [&] { return with_chunk_size(config).shown("run.chunk_size"); });
  return config.with("run.chunk_size", size);
}

std::vector<run::ExportFormat> export_formats(const JobSpec& job) {
  std::vector<run::ExportFormat> formats{run::kJsonLines};
  formats.insert(formats.end(), job.exports.begin(), job.exports.end());
  return formats;
}

std::unique_ptr<Job> read_job(const Config& config) {
  return job_of(config).read(config);
}

std::unique_ptr<Job> read_job(const cluster::Group& world, const Config& config) {
  std::unique_ptr<Job> job;
  cluster::run_together(world, [&] { job = read_job(config); });
  return job;
}

run::JobOutcome run_job(run::RunContext& run) {
  return read_job(run.topology.world(), run.config)->run(run);
}

void add_job_keys(KeyTable& table_of_keys) {
  std::vector<AddKeys> added;
  for (const JobSpec& job : jobs()) {
    for (const AddKeys add_keys : job.keys) {
      if (std::find(added.begin(), added.end(), add_keys) == added.end()) {
        add_keys(table_of_keys);
        added.push_back(add_keys);
      }
      note_reader(job, add_keys, table_of_keys);
    }
  }
}

std::vector<std::string> notes_for_job(const Config& config) {
  const JobSpec& job = job_of(config);
  std::vector<std::string> notes = config.notes();
  for (const std::string& name : config.not_default())
    if (!config.table().find(name)->is_read_by(job.name))
      notes.push_back("job " + std::string(job.name) + " does not read " + name);
  return notes;
}

}  // namespace mgpu::jobs
