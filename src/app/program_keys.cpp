#include <mgpu/app/program_keys.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/store/run_dir/store_config.hpp>
#include <mgpu/watch/watch_config.hpp>

namespace mgpu::app {
namespace {

std::vector<std::string> job_names() {
  std::vector<std::string> names;
  for (const jobs::JobSpec& job : jobs::jobs())
    names.emplace_back(job.name);
  return names;
}

}  // namespace

const KeyTable& program_keys() {
  static const KeyTable kTable = [] {
    KeyTable table;
    add_common_keys(table, job_names());
    store::add_store_keys(table);
    cluster::add_cluster_keys(table);
    watch::add_watch_keys(table);
    jobs::add_job_keys(table);
    return table;
  }();
  return kTable;
}

}  // namespace mgpu::app
