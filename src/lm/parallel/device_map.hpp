#pragma once

#include <string>
#include <utility>
#include <vector>

#include <mgpu/config/key_table.hpp>

namespace mgpu::lm {

/// Returns the rank of each layer for a device_map of accelerate, whose entries are a module and a
/// device: {"model.embed_tokens": 0, "model.layers.0": 0, "lm_head": 1}. Modules without a layer
/// number are on the first rank (embeddings) or on the last one (final norm and head).
/// Errors: If the program cannot place the modules like this, MappedList::problem says why, and
///         MappedList::help says what to write instead.
MappedList ranks_of_device_map(const std::vector<std::pair<std::string, std::string>>& entries);

}  // namespace mgpu::lm
