#pragma once

#include <mgpu/cluster/group.hpp>
#include <mgpu/config/file_provider.hpp>

namespace mgpu::cluster {

/// Returns a provider of files for `group`: rank 0 reads, and broadcasts to the others. If reading
/// fails, all ranks throw the failure as a CollectiveFailure. `group` has to outlive the provider.
FileProvider shared_files(const Group& group);

}  // namespace mgpu::cluster
