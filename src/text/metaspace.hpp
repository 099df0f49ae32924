#pragma once

#include <string>

#include "json_node.hpp"

namespace mgpu::text {

/// Which pieces of a text get MetaspaceOptions::replacement at their start. A piece that already
/// begins with this character or with a space does not get it. `first` means only the piece at the
/// start of the input.
enum class PrependScheme { always, first, never };

/// The options that the pre-tokenizer and the decoder named Metaspace share.
struct MetaspaceOptions {
  std::string replacement;  // the character that represents a space
  PrependScheme prepend = PrependScheme::always;
  bool split = true;  // true: the pre-tokenizer splits the text at spaces
};

/// Reads the options from a node of tokenizer.json. Errors: E541 (malformed), E542 (not supported)
MetaspaceOptions read_metaspace(const JsonNode& node);

}  // namespace mgpu::text
