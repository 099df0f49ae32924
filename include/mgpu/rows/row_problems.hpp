#pragma once

#include <functional>
#include <string>

#include <mgpu/input/row_file.hpp>

namespace mgpu::rows {

/// Calls `work` on a row and returns why the row cannot be used, or "" if it can. The reason is the
/// message of a JsonError, of the tokenizer (E543) or of the chat template (E545).
std::string problem_of(const std::function<void()>& work);

/// Advice about rows that are longer than data.max_length.
inline constexpr const char* kTooLongHelp =
    "data.too_long=truncate or drop, or a larger data.max_length";

/// Throws a failure that names only this row. Errors: Failure E531 (exit 65).
[[noreturn]] void refuse_row(const fs::path& file, const input::Row& row, const std::string& why,
                             const std::string& help);

}  // namespace mgpu::rows
