#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/training/token_loss.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/lm/weights/companion_files.hpp>
#include <mgpu/recipes/loop_settings.hpp>
#include <mgpu/run/run_context.hpp>

#include "recipes/trainer.hpp"

namespace mgpu::recipes {

class ExampleEncoder;
struct LmData;

/// The purpose of rows: training the model, or measuring the loss on held-out data.
enum class RowUse : std::uint8_t { training, held_out };

/// Data that LmMethod::read() returns on rank 0. Training uses these data in addition to rows of
/// files, or instead of rows. The function load_lm_data() sends all members except `note` to the
/// other ranks.
struct MethodData {
  std::optional<lm::LmExamples> examples{};  // training examples; unset: they come from rows
  std::vector<std::int64_t> numbers{};       // numbers that LmMethod::open() needs on each rank
  std::uint32_t crc = 0;  // checksum of the data; it must be equal in a resumed run
  std::string note{};     // for the log; empty: no note
};

/// The costs of a training method. --plan adds them to the costs of the forward and backward passes
/// of the trained model.
struct MethodCosts {
  std::int64_t resident_parameters = 0;  // parameters of further models, which only run forward
  double sampled = 0.0;                  // share of the sequences whose completions are sampled
  std::int64_t sampling_batch = 0;       // sequences that are sampled together
  /// The number of temporary tensors that the loss needs. Each has the size of one block of the
  /// logits: HeadBlocks::rows x HeadBlocks::vocabulary_block.
  std::int64_t loss_pieces = 0;
  /// The maximum number of tokens that a sequence has after the prompt of its group. 0: groups have
  /// no common prompt, or this maximum is unknown.
  std::int64_t own_tokens = 0;
};

/// Describes the loss of a training, for the page and the curves.
struct LossMeaning {
  std::string name = "cross-entropy";
  std::string per = "token";  // the loss is a mean over tokens, pairs, ...
  std::string unit = "nats";  // of the loss; "": it has no unit
  /// The next two members tell whether the loss of training and the loss on held-out rows are
  /// cross-entropies. The perplexity of a cross-entropy is exp(loss).
  bool is_cross_entropy = true;
  bool held_out_is_cross_entropy = true;
  /// The weight w, if the loss is w CE + (1 - w) D. CE is the cross-entropy of the data, and D is a
  /// distance from a teacher. Unset: the loss has no such parts.
  std::optional<double> ce_weight{};
  std::string distance{};  // name of D: "forward KL"
};

/// The object that LmMethod::open() returns. It provides the loss, and data for the training
/// examples, such as targets of a teacher or sampled completions (lm::WindowSources). It owns the
/// open files and models that the loss and these data need.
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

  /// Returns the items that the model is trained on. `windows` must outlive the items, which refer
  /// to it. By default each item is a window, with the data that sources() adds to the examples of
  /// the window.
  virtual std::unique_ptr<lm::LmItems> make_items(const lm::LmWindows& windows);

  /// Receives the model with the weights from which the training starts. In a resumed run this
  /// function is called before the checkpoint is loaded.
  /// Ranks:  local
  virtual void begin(const lm::TrainableModel& /*start*/) {}

  /// The next three functions do the work of the TrainTask functions with the same names. The
  /// function before_save() is collective over `world`.
  virtual std::vector<KeptTensor> kept_tensors() { return {}; }
  virtual void before_save(const cluster::Group& /*world*/) {}
  virtual void after_load() {}
};

/// The parts in which recipes of language models differ: the examples of a row, the loss, and an
/// additional head of the model. This class implements supervised fine-tuning, and other recipes
/// override functions.
///
/// Unless its comment says otherwise, a function is local and returns the same on every rank.
class LmMethod {
public:
  LmMethod() = default;
  LmMethod(const LmMethod&) = delete;
  LmMethod& operator=(const LmMethod&) = delete;
  LmMethod(LmMethod&&) = delete;
  LmMethod& operator=(LmMethod&&) = delete;
  virtual ~LmMethod() = default;

  /// Returns `options` with the names of columns: one_of (a row must have exactly one of these
  /// columns), all_of (required columns) and may_have (optional columns).
  virtual input::RowOptions row_options(input::RowOptions options) const;

  /// Opens the file `path`, from data.path or data.eval_path, if it has a format that only this
  /// method reads. Returns nullptr if input::RowFile reads the file.
  /// Errors: those of reading the file.
  virtual std::shared_ptr<const input::GeneratedRows> open_file(
      const std::filesystem::path& /*path*/) const {
    return nullptr;
  }

  /// Adds the examples of a row to `examples`, which is empty. If group_size() is above 1, a row
  /// must give exactly examples_of_row() examples.
  /// Errors: JsonError with the reason why the row cannot be used.
  virtual void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
                      lm::LmExamples& examples) const;

  /// Returns how many consecutive examples form a group. All examples of a group are in the same
  /// global batch.
  virtual std::int64_t group_size() const { return 1; }

  /// Returns the number of consecutive items that must be in the same global batch. The size of a
  /// global batch must be a multiple of this number.
  virtual std::int64_t items_together() const { return group_size(); }

  /// Returns whether the examples are prompts whose completions the trained model samples. If it is
  /// true, the loss on held-out rows is not measured.
  virtual bool has_prompts_only() const { return false; }

  /// Returns the share of the data of data.path that complete() holds out from the training. 0:
  /// held-out rows are those of data.eval_path or of a built-in data set.
  virtual double held_out_share() const { return 0.0; }

  /// Returns how many examples encode() adds for each row. The result is used only if group_size()
  /// is above 1.
  virtual std::int64_t examples_of_row() const { return group_size(); }

  /// Changes `examples`, the examples of all rows of a file. Methods that compare rows override
  /// this function, for example to form groups from several rows. Only rank 0 calls it. Returns a
  /// note for the log about examples that are left out; empty: no note.
  /// Errors: Failure if there are too few rows.
  virtual std::string complete(std::int64_t /*seq_len*/, RowUse /*use*/,
                               lm::LmExamples& /*examples*/) const {
    return {};
  }

  /// Returns how many tokens each example reserves after its prompt for a completion that the model
  /// samples. 0: no completion is sampled.
  virtual std::int64_t completion_room() const { return 0; }

  /// Returns the file from which read() takes the examples, or "" if the examples come from rows.
  virtual std::string source() const { return {}; }

  /// Returns whether the model's folder must have a tokenizer even if all rows are token ids.
  virtual bool needs_tokenizer() const { return false; }

  /// Returns whether rows of files are usually token ids. If true, the model's folder may lack a
  /// tokenizer. In a folder without a tokenizer, rows with a text are refused when they are read.
  virtual bool takes_token_ids() const { return false; }

  /// Checks the files that are named by keys of the method. `folder` is the folder of the trained
  /// model.
  /// Errors: Failure E603 (exit 66) for a missing file, other Failures (exit 65 or 78) for files
  ///         that the method cannot use, and errors of reading these files.
  virtual void check_files(const Config& /*config*/,
                           const std::filesystem::path& /*folder*/) const {}

  /// Reads the data that training needs in addition to rows. `vocab` is the size of the trained
  /// model's vocabulary. Only rank 0 calls this function.
  virtual MethodData read(std::int64_t /*seq_len*/, std::int64_t /*vocab*/) const { return {}; }

  /// Checks that the method can continue the trained model in `folder`. This function is not
  /// called if the training begins with random weights.
  /// Errors: Failure (exit 78) for keys that do not fit this model; errors of reading the folder.
  virtual void check_start(const Config& /*config*/,
                           const std::filesystem::path& /*folder*/) const {}

  /// Checks that the folders of further models that the method uses, such as a teacher, contain
  /// weights. --plan needs no weights and does not call this function.
  /// Errors: Failure E603 (exit 66) for a folder without weights; other Failures for weights that
  ///         the method cannot use.
  virtual void check_weights(const Config& /*config*/) const {}

  /// Returns how messages to the user name the training data. nullopt: the data are the rows of
  /// data.path or of a built-in data set.
  virtual std::optional<TrainTask::DataPlace> data_place() const { return std::nullopt; }

  /// Opens the files and models that the loss of training needs, and returns the object that holds
  /// them. This function may move members of `data` into the returned object. The object must not
  /// outlive this LmMethod.
  /// Ranks:  collective over the world.
  virtual std::unique_ptr<OpenMethod> open(const run::RunContext& run, LmData& data) const;

  /// Returns tensors with the names and shapes of OpenMethod::kept_tensors(). --merge and --plan
  /// use this function, because they do not call open().
  virtual std::vector<KeptTensor> kept_tensors() const { return {}; }

  /// Returns the loss on held-out rows. The same loss is used for training, unless a method
  /// overrides open().
  virtual const lm::TokenLoss& loss() const;

  /// Returns an additional head for the model, which the loss uses; nullopt: none.
  virtual std::optional<lm::ModelHead> head(const lm::LmConfig& /*model*/) const {
    return std::nullopt;
  }

  /// Returns the files that a checkpoint has in addition to its weights, such as the tokenizer.
  /// `folder` is the folder of the trained model.
  /// Errors: those of companion_files().
  virtual lm::CompanionFiles model_files(const std::filesystem::path& folder) const {
    return lm::companion_files(folder);
  }

  virtual MethodCosts costs() const { return {}; }

  /// Returns a text that is appended to the line about the data in the banner; empty: none.
  virtual std::string banner() const { return {}; }

  /// Returns the name of the reported value that training maximizes; "" if training minimizes the
  /// loss.
  virtual std::string goal() const { return {}; }

  /// Returns the name, unit and kind of the training loss, for the page and the curves.
  virtual LossMeaning loss_meaning() const { return {}; }

  /// Returns the label of the fraction of correct predictions in the end table and on the page.
  virtual std::string accuracy() const { return "next-token accuracy"; }
  /// Returns the TensorBoard name of the fraction of correct predictions, without "train/".
  virtual std::string accuracy_scalar() const { return "mean_token_accuracy"; }

  /// Returns descriptions of the first numbers of SequenceLoss::digest(). Curves and tables show
  /// these numbers.
  virtual std::vector<ReportedValue> reported_values() const { return {}; }

  /// Returns whether the loss compares the trained model with a reference model. If it is true, all
  /// examples get the sequence column kReferenceColumn before the first step.
  virtual bool needs_reference() const { return false; }

  /// Returns the folder of another model that serves as the reference. Returns "" if the reference
  /// is the model before the training.
  virtual std::filesystem::path reference_folder() const { return {}; }

private:
  lm::CrossEntropy cross_entropy_;
};

}  // namespace mgpu::recipes
