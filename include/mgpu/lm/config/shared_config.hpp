#pragma once

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// Sends `texts`, the result of read_config_texts(), from rank 0 to all ranks of `group`, and
/// returns them on every rank. The `texts` of other ranks are ignored.
/// Ranks:  collective over `group`.
LmConfigTexts broadcast_texts(const cluster::Group& group, LmConfigTexts texts);

/// Reads the configuration files of a model folder on rank 0, and returns the parsed configuration
/// on every rank of `group`.
///
/// Ranks:  collective over `group`.
/// Errors: those of read_lm_config(), thrown on every rank.
LmConfig read_shared_lm_config(const cluster::Group& group, const fs::path& folder,
                               FolderWeights weights = FolderWeights::used);

}  // namespace mgpu::lm
