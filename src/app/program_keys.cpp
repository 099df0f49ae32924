#include <mgpu/app/program_keys.hpp>
#include <mgpu/base/common_keys.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/jobs/train_job.hpp>
#include <mgpu/store/store_config.hpp>

namespace mgpu::app {

const KeyTable& program_keys() {
  static const KeyTable kTable = [] {
    KeyTable table;
    add_common_keys(table);
    store::add_store_keys(table);
    cluster::add_cluster_keys(table);
    jobs::add_train_job_keys(table);
    return table;
  }();
  return kTable;
}

}  // namespace mgpu::app
