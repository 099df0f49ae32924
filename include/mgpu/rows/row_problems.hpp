#pragma once

#include <functional>
#include <string>

#include <mgpu/input/row_file.hpp>

namespace mgpu::rows {

/// Does `work` on a row. Returns why the row cannot be used, "" where it can: what JsonError says,
/// and what tokenizer (E543) or chat template (E545) say of its text.
std::string problem_of(const std::function<void()>& work);

/// What can be done about rows that are longer than data.max_length.
inline constexpr const char* kTooLongHelp =
    "data.too_long=truncate or drop, or a larger data.max_length";

/// Errors: Failure E531 (exit 65) for this row alone, always.
[[noreturn]] void refuse_row(const fs::path& file, const input::Row& row, const std::string& why,
                             const std::string& help);

}  // namespace mgpu::rows
