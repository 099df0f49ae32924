#pragma once

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// Broadcasts the texts of rank 0 of `group` and returns them on all ranks. Collective.
LmConfigTexts broadcast_texts(const cluster::Group& group, LmConfigTexts texts);

/// Returns the result of read_lm_config() on all ranks of `group`. Only rank 0 reads the files.
/// Collective.
/// Errors: those of read_lm_config(), on all ranks.
LmConfig read_shared_lm_config(const cluster::Group& group, const fs::path& folder);

}  // namespace mgpu::lm
