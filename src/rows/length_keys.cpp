#include <mgpu/rows/length_keys.hpp>

namespace mgpu::rows {
namespace {

TooLong too_long_of(const Config& config) {
  if (config.is("data.too_long", "drop")) return TooLong::drop;
  return config.is("data.too_long", "error") ? TooLong::error : TooLong::truncate;
}

}  // namespace

void add_length_keys(KeyTable& table) {
  table.add({.name = "data.max_length",
             .type = KeyType::integer,
             .default_value = "2048",
             .summary = "length of a sample at most",
             .unit = "tokens",
             .min = 1,
             .max = 1 << 24});
  table.add({.name = "data.too_long",
             .type = KeyType::choice,
             .default_value = "truncate",
             .summary = "what becomes of a longer sample: it is cut, left empty, or ends the run; "
                        "counted in any case",
             .choices = {"truncate", "drop", "error"}});
}

LengthKeys read_length_keys(const Config& config) {
  return {.max_length = config.integer("data.max_length"), .too_long = too_long_of(config)};
}

}  // namespace mgpu::rows
