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
/// The placeholder becomes the path of a folder kAllRounds in the output of the last of these
/// stages. This folder does not exist. find_rounds() recognizes paths into the folder, and
/// path_of() replaces them by paths of real files. If a real file has the rows of several rounds,
/// join_rounds() writes it.
inline constexpr const char* kAllRounds = "all_rounds";

/// If the path of `input` begins with the folder kAllRounds of a stage, removes this folder from
/// StageInput::relative, and sets StageInput::earlier to the stages of earlier rounds. `reader` is
/// the stage that reads the input.
/// Errors: Failure E124 (exit 78) if the file is not JSON Lines, the only format that is joined.
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
/// Errors: Failure E603 if the file of a round cannot be read; E601, E602 about the new file.
void join_rounds(const Stage& stage, const std::map<std::size_t, std::string>& directories);

}  // namespace mgpu::jobs
