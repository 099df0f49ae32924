#include <algorithm>
#include <array>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/jobs/merge_train.hpp>
#include <mgpu/jobs/train_job.hpp>
#include <mgpu/jobs/train_plan.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::array kJobs = {Job{"train", "Algorithm Distillation", add_train_job_keys,
                                  check_train_job, check_train_data, train_disk_bytes, plan_train,
                                  run_train_job, merge_train_job}};

}  // namespace

std::span<const Job> jobs() {
  return kJobs;
}

const Job& job_of(const Config& config) {
  const auto* found = std::find_if(kJobs.begin(), kJobs.end(),
                                   [&](const Job& job) { return config.is("job", job.name); });
  if (found == kJobs.end()) throw Error("a job of the key table is not in the table of jobs");
  return *found;
}

void add_job_keys(KeyTable& table) {
  for (const Job& job : kJobs)
    job.add_keys(table);
}

}  // namespace mgpu::jobs
