#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/quarantine.hpp>

namespace mgpu::store {

/// Returns the text of quarantine.jsonl: a line for each death.
std::string text_of(const std::vector<Death>& deaths);

/// Parses quarantine.jsonl. Errors: Failure E604 (exit 80), naming `file`.
std::vector<Death> deaths_in(const std::string& text, const fs::path& file);

/// Returns attempts/NNNN.died.
fs::path note_path(const fs::path& run_directory, std::uint32_t attempt);

/// Returns the deaths in `file` and those of later attempts before `attempt`, which it adds to the
/// file. Local. Errors: Failure E602, E603, E604.
std::vector<Death> collect_deaths(const fs::path& run_directory, const fs::path& file,
                                  std::uint32_t attempt);

}  // namespace mgpu::store
