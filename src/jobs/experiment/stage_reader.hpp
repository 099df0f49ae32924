#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/file_provider.hpp>

#include "cell_values.hpp"
#include "keys.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Reads stage files with the values of a cell (algorithm, data set, model, round and eta), and
/// replaces these placeholders in them:
///   ${algorithm}, ${dataset}, ${model}, ${round}, ${eta}   the values of the cell
///   ${phase}           "first" in round 0 and "later" in other rounds
///   ${stage.NAME}      the output of the stage of file NAME.yaml with the same values
///   ${previous.NAME}   the output of the stage of file NAME.yaml in the round before
///   ${rounds.NAME}, ${rounds.FIRST.LATER}   a folder whose files have the rows of all rounds so
///                      far; see joined_rounds.hpp
///
/// Two cells share a stage if they agree in all values that the stage uses. A stage uses a value if
/// its file, or a file that its file includes, has the placeholder of the value. The stage also
/// uses the values of each stage whose output it reads. ${phase}, ${previous.NAME} and
/// ${rounds.NAME} also use the round.
class StageReader {
public:
  /// Keeps references to all arguments, which must outlive this object.
  StageReader(const ExperimentConfig& keys, const Config& experiment, const FileProvider& files)
      : keys_(keys), experiment_(experiment), files_(files) {}

  /// Returns the index of the stage that the file `file_name`.yaml makes with these values. If the
  /// stage is new, reads this file, and the files of the stages whose output this file names.
  ///
  /// Ranks:  collective over the group of the file provider.
  /// Errors: see read_graph(). After an error, the object can only be destroyed.
  std::size_t stage_of(const std::string& file_name, const CellValues& values);

  /// Returns stage_of() for the file `algorithm`.yaml, which evaluates the algorithm.
  /// Errors: those of stage_of(); Failure E124 (exit 78) if the file is missing.
  std::size_t evaluation_of(const std::string& algorithm, const CellValues& values);

  const Stage& stage(std::size_t index) const { return stages_.at(index); }
  std::vector<Stage> take_stages() { return std::move(stages_); }

private:
  /// A stage that is being read.
  struct Open {
    std::string file_name;
    std::filesystem::path file;
    CellValues values;
    CellValues used{};               // subset of `values` that the stage uses
    std::set<std::size_t> before{};  // stages whose output the stage reads
    std::map<std::size_t, std::vector<std::size_t>> rounds{};  // see Stage::rounds
  };

  std::optional<std::size_t> find(const std::string& file_name, const CellValues& values) const;
  void refuse_cycle(const std::string& file_name, const CellValues& values) const;
  Config read(Open& open);
  std::optional<std::string> help_if_missing(const std::filesystem::path& file);
  const std::string& text_of(const std::filesystem::path& file);
  std::optional<std::string> text_for(const std::string& name, Open& open);
  std::string value_of(const std::string& name, Open& open) const;
  std::size_t stage_before(const std::string& file_name, const CellValues& values, Open& open);
  std::string output_of(const std::string& file_name, const CellValues& values, Open& open);
  std::string previous_output(const std::string& file_name, Open& open);
  std::string output_of_rounds(const std::string& names, Open& open);
  void add(const Open& open, const Config& config);

  const ExperimentConfig& keys_;
  const Config& experiment_;
  const FileProvider& files_;
  std::map<std::filesystem::path, std::string> texts_{};
  std::vector<const Open*> way_{};  // stages that are being read; each stage reads the output of
                                    // the next one
  std::vector<Stage> stages_{};
};

}  // namespace mgpu::jobs
