#pragma once

#include <cstdint>

#include "config_fields.hpp"

// Facts about classifiers in config.json.
namespace mgpu::lm {

/// Returns the number of labels as transformers counts them.
std::int64_t labels_of(const ConfigFields& fields);

/// Returns whether the first architecture ends with ForTokenClassification.
bool classifies_tokens(const ConfigFields& fields);

}  // namespace mgpu::lm
