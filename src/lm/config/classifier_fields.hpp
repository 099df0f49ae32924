#pragma once

#include <cstdint>

#include "config_fields.hpp"

// Facts about classifiers in config.json.
namespace mgpu::lm {

/// Returns the number of labels: the size of `id2label`, else `num_labels`, else 2, as in
/// transformers.
std::int64_t labels_of(const ConfigFields& fields);

/// Returns whether the first entry of `architectures` ends with ForTokenClassification.
bool classifies_tokens(const ConfigFields& fields);

}  // namespace mgpu::lm
