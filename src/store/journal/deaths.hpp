#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/quarantine.hpp>

namespace mgpu::store {

/// Returns the text of quarantine.jsonl: a line for each death.
std::string text_of(const std::vector<Death>& deaths);

/// Parses the text of quarantine.jsonl. Errors: Failure E604 (exit 80) when a line is malformed;
/// the message names `file`.
std::vector<Death> deaths_in(const std::string& text, const fs::path& file);

/// Returns the path of an attempt's death note, attempts/NNNN.died in the run directory.
fs::path note_path(const fs::path& run_directory, std::uint32_t attempt);

/// Returns the deaths in `file` (quarantine.jsonl) and in all attempts before `attempt`. Adds to
/// `file` the deaths that it lacks. Removes the WorkMark files of attempts before `attempt`.
/// Ranks:  local.
/// Errors: Failure E602 (write failed), E603 (cannot be read), E604 (damaged).
std::vector<Death> collect_deaths(const fs::path& run_directory, const fs::path& file,
                                  std::uint32_t attempt);

}  // namespace mgpu::store
