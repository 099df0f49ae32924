#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/training/token_loss.hpp>
#include <mgpu/lm/weights/companion_files.hpp>

namespace mgpu::recipes {

class ExampleEncoder;

/// The purpose of rows.
enum class RowUse : std::uint8_t { training, held_out };

/// The parts in which recipes of language models differ: the examples of a row, the loss, and a
/// head of the model. This class is supervised fine-tuning; other recipes override what they
/// change. All methods are local, and give the same on all ranks.
class LmMethod {
public:
  LmMethod() = default;
  LmMethod(const LmMethod&) = delete;
  LmMethod& operator=(const LmMethod&) = delete;
  LmMethod(LmMethod&&) = delete;
  LmMethod& operator=(LmMethod&&) = delete;
  virtual ~LmMethod() = default;

  /// Adds the columns of a row: those that every row must have, and those that it may have.
  virtual input::RowOptions row_options(input::RowOptions options) const;

  /// Fills `examples`, which is empty, with those of a row: group_size() of them, or any number if
  /// that is 1.
  /// Errors: JsonError with the reason why the row cannot be used.
  virtual void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
                      lm::LmExamples& examples) const;

  /// Returns how many consecutive examples form a group, which stays in one global batch.
  virtual std::int64_t group_size() const { return 1; }

  /// Returns the loss of training and of held-out rows. Recipe `distill` replaces that of training.
  virtual const lm::TokenLoss& loss() const;

  /// Returns an additional head of the model, which the loss uses.
  virtual std::optional<lm::ModelHead> head(const lm::LmConfig& /*model*/) const {
    return std::nullopt;
  }

  /// Returns the files of a checkpoint other than its weights, from those of the model's folder.
  /// Errors: those of companion_files().
  virtual lm::CompanionFiles model_files(const std::filesystem::path& folder) const {
    return lm::companion_files(folder);
  }

  /// Returns what the fraction of correct predictions is, for the end table and the page.
  virtual std::string accuracy() const { return "next-token accuracy"; }

private:
  lm::CrossEntropy cross_entropy_;
};

}  // namespace mgpu::recipes
