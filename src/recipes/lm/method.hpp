#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/training/token_loss.hpp>
#include <mgpu/lm/weights/companion_files.hpp>
#include <mgpu/run/run_context.hpp>

#include "recipes/trainer.hpp"

namespace mgpu::recipes {

class ExampleEncoder;
struct LmData;

/// The purpose of rows.
enum class RowUse : std::uint8_t { training, held_out };

/// Data that a method reads on rank 0, in addition to rows or instead of them. All ranks receive
/// `numbers` and `crc`.
struct MethodData {
  std::optional<lm::LmExamples> examples{};  // for training, instead of rows
  std::vector<std::int64_t> numbers{};       // for LmMethod::open()
  std::uint32_t crc = 0;                     // checksum; a resumed run must have the same
  std::string note{};                        // for the log; empty: no note
};

/// The costs of a step for plans, in addition to the passes of the trained model.
struct MethodCosts {
  std::int64_t resident_parameters = 0;  // parameters of models that only run forward
  double sampled = 0.0;                  // share of tokens that the trained model samples itself
  std::int64_t sampling_batch = 0;       // sequences that are sampled together
};

/// The loss of a training, and what it adds to the examples. It keeps files and models open.
class OpenMethod {
public:
  OpenMethod() = default;
  OpenMethod(const OpenMethod&) = delete;
  OpenMethod& operator=(const OpenMethod&) = delete;
  OpenMethod(OpenMethod&&) = delete;
  OpenMethod& operator=(OpenMethod&&) = delete;
  virtual ~OpenMethod() = default;

  virtual const lm::TokenLoss& loss() const = 0;
  virtual lm::WindowSources sources() const { return {}; }
};

/// The parts in which recipes of language models differ: the examples of a row, the loss, and an
/// additional head of the model. This class implements supervised fine-tuning, and other recipes
/// override functions. Functions are local unless they say otherwise, and return the same on all
/// ranks.
class LmMethod {
public:
  LmMethod() = default;
  LmMethod(const LmMethod&) = delete;
  LmMethod& operator=(const LmMethod&) = delete;
  LmMethod(LmMethod&&) = delete;
  LmMethod& operator=(LmMethod&&) = delete;
  virtual ~LmMethod() = default;

  /// Adds the names of columns to the options: columns that every row must have, and optional
  /// columns.
  virtual input::RowOptions row_options(input::RowOptions options) const;

  /// Adds the examples of a row to `examples`, which is empty. If group_size() is above 1, a row
  /// must give exactly that many examples. Errors: JsonError with the reason why the row cannot be
  /// used.
  virtual void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
                      lm::LmExamples& examples) const;

  /// Returns how many consecutive examples form a group. A group is never divided among global
  /// batches.
  virtual std::int64_t group_size() const { return 1; }

  /// Returns how many tokens of room each example needs after its prompt; 0: its own completion is
  /// enough.
  virtual std::int64_t completion_room() const { return 0; }

  /// Returns the file of the examples that read() returns, for messages. It is empty if examples
  /// come from rows.
  virtual std::string source() const { return {}; }

  /// Returns whether the model's folder must have a tokenizer even if all rows are token ids.
  virtual bool needs_tokenizer() const { return false; }

  /// Checks the files that the method's keys name. `folder` is the folder of the trained model.
  /// Errors: ConfigFailure (exit 66 or 78).
  virtual void check_files(const Config& /*config*/,
                           const std::filesystem::path& /*folder*/) const {}

  /// Reads the data that training needs in addition to rows. Ranks: rank 0 alone.
  virtual MethodData read(std::int64_t /*seq_len*/) const { return {}; }

  /// Returns how messages name the training data; nullopt: as rows.
  virtual std::optional<TrainTask::DataPlace> data_place() const { return std::nullopt; }

  /// Opens the files and models that the loss of training needs. It may move data of the method out
  /// of `data`. Ranks: collective over the run. The result must not outlive this object.
  virtual std::unique_ptr<OpenMethod> open(const run::RunContext& run, LmData& data) const;

  /// Returns the loss of held-out rows. It is also the loss of training unless open() is
  /// overridden.
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

  virtual MethodCosts costs() const { return {}; }

  /// Returns a text that the banner adds to the line about the data; empty: no text.
  virtual std::string banner() const { return {}; }

  /// Returns the meaning of the fraction of correct predictions, for the table printed at the end
  /// and for the page.
  virtual std::string accuracy() const { return "next-token accuracy"; }

private:
  lm::CrossEntropy cross_entropy_;
};

}  // namespace mgpu::recipes
