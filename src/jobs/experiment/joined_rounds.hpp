#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stages.hpp"

namespace mgpu::jobs {

/// ${rounds.NAME} stands for this folder below the output of stage NAME. A file in it has the rows
/// of all rounds up to that of the stage. With the name ${rounds.FIRST.LATER}, the rows of round 0
/// are those of stage FIRST, and others those of stage LATER.
inline constexpr const char* kAllRounds = "all_rounds";

/// If `input` is below the folder kAllRounds of its stage, removes the folder from its path, and
/// adds the stages of earlier rounds. `reader` is the stage that reads the input.
/// Errors: Failure E124 (exit 78) for a file that is not JSON Lines, because only those are joined.
void find_rounds(const std::vector<Stage>& stages, const Stage& reader, StageInput& input);

/// Returns the path of an input. If it has the rows of several rounds, its path depends on the run
/// directories of these rounds. `directories` has the run directory of each stage by index.
std::filesystem::path path_of(const StageInput& input,
                              const std::map<std::size_t, std::string>& directories);

/// Returns path_of() for --plan, which writes no files: if that file does not exist, the file of
/// the last round.
std::filesystem::path path_for_plan(const StageInput& input,
                                    const std::map<std::size_t, std::string>& directories);

/// Writes the files with rows of several rounds that a stage reads, unless they exist. The rounds
/// follow each other in a file. Local.
/// Errors: Failure E603 for a missing file of a round; E601, E602 about the new file.
void join_rounds(const Stage& stage, const std::map<std::size_t, std::string>& directories);

}  // namespace mgpu::jobs
