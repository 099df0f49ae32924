#pragma once

#include <string>

#include "json_node.hpp"

namespace mgpu::text {

/// Where a mark for a space is put in front of a text that has none.
enum class PrependScheme { always, first, never };

/// What the pre-tokenizer and the decoder named Metaspace share.
struct MetaspaceOptions {
  std::string replacement;  // one character that stands for a space
  PrependScheme prepend = PrependScheme::always;
  bool split = true;
};

/// Errors: E541, E542
MetaspaceOptions read_metaspace(const JsonNode& node);

}  // namespace mgpu::text
