#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stages.hpp"

namespace mgpu::jobs {

/// In the file of a stage, ${rounds.NAME} stands for the rows of stage NAME from all rounds up to
/// the round of the stage that reads them. With ${rounds.FIRST.LATER}, the rows of round 0 are
/// those of stage FIRST, and the rows of later rounds are those of stage LATER.
///
/// The placeholder becomes the path OUTPUT/kAllRounds, where OUTPUT is the output folder of the
/// stage of the last of these rounds. The folder kAllRounds does not exist. The function
/// find_rounds() recognizes paths into this folder, and path_of() replaces them by paths of real
/// files. If a real file contains the rows of several rounds, join_rounds() writes it.
inline constexpr const char* kAllRounds = "all_rounds";

/// If `input.relative` begins with the folder kAllRounds, removes this folder from the path, and
/// sets `input.earlier` to the stages of earlier rounds. Otherwise does nothing. `reader` is the
/// stage that reads the input.
/// Errors: Failure E124 (exit 78) if `input.relative` begins with kAllRounds and does not end with
///         `.jsonl`. Only JSON Lines are joined.
void find_rounds(const std::vector<Stage>& stages, const Stage& reader, StageInput& input);

/// Returns the path of an input. If the input has the rows of several rounds, returns the path of
/// the joined file. This path depends on the run directories of all these rounds. `directories` has
/// the run directory of each stage by index.
std::filesystem::path path_of(const StageInput& input,
                              const std::map<std::size_t, std::string>& directories);

/// Returns the path of an input for --plan, which writes no files: path_of() if that file exists,
/// and otherwise the path of the file of the last round.
std::filesystem::path path_for_plan(const StageInput& input,
                                    const std::map<std::size_t, std::string>& directories);

/// Writes the files that `stage` reads and that join the rows of several rounds, unless they exist.
/// Each file has the rows in the order of the rounds.
/// Ranks:  local.
/// Errors: Failure E603 (exit 66) if the file of a round cannot be read; E601 (exit 73) or E602
///         (exit 74) if the new file cannot be made or written.
void join_rounds(const Stage& stage, const std::map<std::size_t, std::string>& directories);

}  // namespace mgpu::jobs
