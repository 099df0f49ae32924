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

/// Returns the deaths that `file` (quarantine.jsonl) lists, and the deaths in attempts before
/// `attempt` that `file` does not list yet. Adds the unlisted deaths to `file`. Then removes the
/// files in working/ of the attempts before `attempt`.
///
/// Ranks:  local.
/// Errors: Failure E601 (cannot be created), E602 (write failed), E603 (cannot be read), E604
///         (damaged).
std::vector<Death> collect_deaths(const fs::path& run_directory, const fs::path& file,
                                  std::uint32_t attempt);

}  // namespace mgpu::store
