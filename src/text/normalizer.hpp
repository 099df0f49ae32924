#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "json_node.hpp"

namespace mgpu::text {

/// Rewrites a text before it is split. Any number of threads may use one object.
class Normalizer {
public:
  virtual ~Normalizer() = default;

  /// Rewrites `text`. Shapes: text is valid UTF-8 before and after
  virtual void apply(std::string& text) const = 0;
};

/// Makes the normalizer that a node of tokenizer.json describes. Errors: E541 (malformed), E542
/// (not supported)
std::unique_ptr<Normalizer> make_normalizer(const JsonNode& node);

/// Makes the normalizer `form`: NFC, NFD, NFKC or NFKD of Unicode 9. Returns nullptr for another
/// name. Uses ICU, restricted so that characters of later Unicode versions do not change.
std::unique_ptr<Normalizer> make_unicode_normalizer(std::string_view form);

}  // namespace mgpu::text
