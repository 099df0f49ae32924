#pragma once

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// What rank 0 of `group` has read, on all of its ranks. Collective.
LmConfigTexts broadcast_texts(const cluster::Group& group, LmConfigTexts texts);

/// read_lm_config() for all ranks of `group`, of which rank 0 reads. Collective.
/// Errors: those of read_lm_config(), on all ranks.
LmConfig read_shared_lm_config(const cluster::Group& group, const fs::path& folder);

}  // namespace mgpu::lm
