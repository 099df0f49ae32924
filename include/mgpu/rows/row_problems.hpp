#pragma once

#include <functional>
#include <string>

#include <mgpu/cluster/group.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/input/row_file.hpp>

namespace mgpu::rows {

/// Calls `work`, which processes a row, and returns why the row cannot be used, or "" if it can.
/// The reason is the message of a JsonError, or of a Failure E543 (tokenizer) or E545 (chat
/// template). Other exceptions pass through.
std::string problem_of(const std::function<void()>& work);

/// Advice about rows that are longer than data.max_length.
inline constexpr const char* kTooLongHelp =
    "data.too_long=truncate or drop, or a larger data.max_length";

/// Throws Failure E531 (exit 65) for one unusable row of `file`. The message shows the line of the
/// row, `why` the row is unusable, and `help`.
[[noreturn]] void refuse_row(const fs::path& file, const input::Row& row, const std::string& why,
                             const std::string& help);

/// Returns, on every rank, the problems that all ranks found in the lines of `file`. `mine`: the
/// problems that this rank found.
/// Ranks:  collective over `group`.
formats::LineProblems gather_problems(const cluster::Group& group, const fs::path& file,
                                      const formats::LineProblems& mine);

}  // namespace mgpu::rows
