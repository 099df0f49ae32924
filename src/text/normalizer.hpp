#pragma once

#include <memory>
#include <string>

#include "json_node.hpp"

namespace mgpu::text {

/// Rewrites a text before it is split. Any number of threads may use one.
class Normalizer {
public:
  virtual ~Normalizer() = default;

  /// Shapes: text is valid UTF-8, and stays so
  virtual void apply(std::string& text) const = 0;
};

/// Errors: E541, E542
std::unique_ptr<Normalizer> make_normalizer(const JsonNode& node);

/// NFC, NFD, NFKC or NFKD of Unicode 9; nullptr for another name. Through ICU, which is told to
/// leave characters of later versions alone.
std::unique_ptr<Normalizer> make_unicode_normalizer(std::string_view form);

}  // namespace mgpu::text
