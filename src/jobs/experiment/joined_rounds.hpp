#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stages.hpp"

namespace mgpu::jobs {

/// In stage files, ${rounds.NAME} stands for the folder of this name in the run directory of stage
/// NAME. A file in this folder has the rows of all rounds up to the round of the stage. With
/// ${rounds.FIRST.LATER}, the rows of round 0 are those of stage FIRST. The rows of later rounds
/// are those of stage LATER.
inline constexpr const char* kAllRounds = "all_rounds";

/// If `input` is in the folder kAllRounds of a stage, removes this folder from
/// StageInput::relative, and sets StageInput::earlier to the stages of earlier rounds. `reader` is
/// the stage that reads the input.
/// Errors: Failure E124 (exit 78) if the file is not JSON Lines, the only format that is joined.
void find_rounds(const std::vector<Stage>& stages, const Stage& reader, StageInput& input);

/// Returns the path of an input. If the file has the rows of several rounds, its path depends on
/// the run directories of these rounds. `directories` has the run directory of each stage by index.
std::filesystem::path path_of(const StageInput& input,
                              const std::map<std::size_t, std::string>& directories);

/// Returns the path of an input for --plan, which writes no files. It is path_of() if that file
/// exists, and the file of the last round otherwise.
std::filesystem::path path_for_plan(const StageInput& input,
                                    const std::map<std::size_t, std::string>& directories);

/// Writes the files with rows of several rounds that a stage reads, unless they exist. Such a file
/// has the rows of the first round first. Local.
/// Errors: Failure E603 for a missing file of a round; E601, E602 about the new file.
void join_rounds(const Stage& stage, const std::map<std::size_t, std::string>& directories);

}  // namespace mgpu::jobs
