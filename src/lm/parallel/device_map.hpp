#pragma once

#include <string>
#include <utility>
#include <vector>

#include <mgpu/config/key_table.hpp>

namespace mgpu::lm {

/// Returns the rank of each layer for a device_map of accelerate. Each entry is a module and its
/// device: {"model.embed_tokens": 0, "model.layers.0": 0, "lm_head": 1}. Embeddings, including
/// `rotary_emb`, have to be on the rank of the first layer. All other modules without a layer
/// number have to be on the rank of the last layer.
///
/// Errors: If the program cannot place the modules in this way, MappedList::problem contains the
///         reason, and MappedList::help a value to use instead.
MappedList ranks_of_device_map(const std::vector<std::pair<std::string, std::string>>& entries);

}  // namespace mgpu::lm
