#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "json_node.hpp"

namespace mgpu::text {

/// Rewrites a text before the pre-tokenizer splits it. Any number of threads may use one object.
class Normalizer {
public:
  virtual ~Normalizer() = default;

  /// Rewrites `text`, which must be valid UTF-8 and remains valid UTF-8.
  virtual void apply(std::string& text) const = 0;
};

/// Makes the normalizer that a node of tokenizer.json describes. Errors: E541 (malformed), E542
/// (not supported)
std::unique_ptr<Normalizer> make_normalizer(const JsonNode& node);

/// Makes the normalizer for a Unicode normalization form: NFC, NFD, NFKC or NFKD. Returns nullptr
/// for another name. The normalizer uses ICU, but does not change characters that Unicode 9 lacks.
std::unique_ptr<Normalizer> make_unicode_normalizer(std::string_view form);

}  // namespace mgpu::text
