#include "metaspace.hpp"

#include <mgpu/base/utf8.hpp>

namespace mgpu::text {
namespace {

PrependScheme read_scheme(const JsonNode& node) {
  const std::string_view name = node.text();
  if (name == "always") return PrependScheme::always;
  if (name == "first") return PrependScheme::first;
  if (name == "never") return PrependScheme::never;
  node.unknown_choice("prepend_scheme", "always, first, never");
}

}  // namespace

MetaspaceOptions read_metaspace(const JsonNode& node) {
  MetaspaceOptions options;
  const JsonNode replacement = node.at("replacement");
  options.replacement = replacement.text();
  if (utf8_length(options.replacement) != 1) replacement.refuse("one character is needed");
  const auto scheme = node.find("prepend_scheme");
  if (scheme) options.prepend = read_scheme(*scheme);
  // Without `prepend_scheme`, `add_prefix_space` = false means PrependScheme::never.
  if (!node.flag("add_prefix_space", true)) {
    if (scheme && options.prepend != PrependScheme::never)
      scheme->refuse("`add_prefix_space` says otherwise");
    options.prepend = PrependScheme::never;
  }
  options.split = node.flag("split", true);
  return options;
}

}  // namespace mgpu::text
