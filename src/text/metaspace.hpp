#pragma once

#include <string>

#include "json_node.hpp"

namespace mgpu::text {

/// The pieces that get a leading space if they lack one.
enum class PrependScheme { always, first, never };

/// The options that the pre-tokenizer and the decoder named Metaspace share.
struct MetaspaceOptions {
  std::string replacement;  // one character that represents a space
  PrependScheme prepend = PrependScheme::always;
  bool split = true;
};

/// Reads the options. Errors: E541, E542
MetaspaceOptions read_metaspace(const JsonNode& node);

}  // namespace mgpu::text
