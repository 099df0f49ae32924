#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

/// The name that another program uses for one of our settings.
struct ForeignName {
  std::string_view name;     // as there: "per_device_train_batch_size"
  std::string_view program;  // "transformers"
  std::string_view key;      // ours: "train.micro_batch_size"; "" if we lack it
  std::string_view help;     // what to write instead, or how ours differs
  bool top_level_only = false;
};

/// All known foreign names.
std::span<const ForeignName> foreign_names();

/// Returns nullptr when no program that we know has it. `path`: the dotted path where it was found.
const ForeignName* find_foreign_name(std::string_view path);

/// The value of `choices` that other programs call `text` ("float16" -> "fp16"), or "".
std::string translated_value(std::string_view text, const std::vector<std::string>& choices);

}  // namespace mgpu
