#include "method.hpp"

#include <algorithm>

#include <mgpu/base/file_io.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/model_plan.hpp>
#include <mgpu/text/text_folder.hpp>

#include "recipes/lm/data.hpp"
#include "recipes/lm/examples.hpp"
#include "recipes/lm/keys.hpp"
#include "recipes/required_file.hpp"
#include "stored_targets.hpp"
#include "teacher.hpp"

namespace mgpu::recipes {
namespace {

void require_prompt(const formats::JsonValue& row, const lm::LmExamples& encoded) {
  constexpr const char* kWhy =
      ", and distill.on_policy completes prompts: give it `prompt` and "
      "`completion`, or `messages`";
  for (const char* name : {"text", "token_ids"})
    if (rows::member_of(row, name) != nullptr && !rows::member_of(row, "completion_ids"))
      throw formats::JsonError(std::string("it has `") + name + "`" + kWhy);
  if (encoded.is_learned.front() != 0)
    throw formats::JsonError("its prompt has no tokens that distill.on_policy could complete");
}

/// Refuses a teacher whose vocabulary has another size than the student's, with one exception. The
/// sizes may differ if both vocabularies contain all tokens of the student's tokenizer, so that the
/// vocabularies differ only in unused ids at the end. But if `is_sampled` is true (the student
/// samples completions), the student's vocabulary must not be larger than the teacher's.
void require_vocabulary(const Config& config, const char* key, std::int64_t teachers,
                        const std::filesystem::path& student, bool is_sampled) {
  const std::int64_t students = lm::read_lm_config(student).vocab;
  if (teachers == students) return;
  std::string sentence = std::string("`") + key + "` is about a vocabulary of " +
                         std::to_string(teachers) + " tokens, the student has " +
                         std::to_string(students);
  if (text::has_tokenizer(student)) {
    const text::TextFolder folder =
        text::parse_text_folder(text::read_text_files(student), student);
    const auto tokens = static_cast<std::int64_t>(folder.tokenizer.vocab_size());
    const bool may_sample_unknown = is_sampled && students > teachers;
    if (tokens <= std::min(teachers, students) && !may_sample_unknown) return;
    sentence += ", its tokenizer " + std::to_string(tokens);
  }
  throw config.problem("E107", key, sentence, "a teacher and a student with the same tokenizer");
}

/// Returns the name of the distance from the teacher, such as "reverse KL, times T^2 = 4".
std::string name_of_distance(const DistillSettings& settings) {
  const lm::Distillation& how = settings.how;
  std::string name =
      settings.targets.empty() ? "forward KL" : "forward KL, or the cross-entropy of stored draws";
  if (how.divergence == lm::Divergence::reverse_kl) name = "reverse KL";
  if (how.divergence == lm::Divergence::jsd) name = report::text_of("JSD, beta %.3g", how.beta);
  const double scale = how.temperature * how.temperature;
  return scale == 1.0 ? name : name + report::text_of(", times T^2 = %.3g", scale);
}

}  // namespace

void DistillMethod::encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
                           lm::LmExamples& examples) const {
  LmMethod::encode(row, use, encoder, examples);
  if (samples() && use == RowUse::training) require_prompt(row, examples);
}

void DistillMethod::check_files(const Config& config, const std::filesystem::path& folder) const {
  if (has_targets()) {
    require_file(config, "distill.targets", settings_.targets);
    require_vocabulary(config, "distill.targets", StoredTargets(settings_).facts().vocab, folder,
                       samples());
    return;
  }
  const std::filesystem::path& teacher = settings_.model;
  rows::check_model_config(config, teacher, "distill.model");
  require_tokenizer(config, "distill.model", teacher);
  const lm::LmConfig model = lm::read_lm_config(teacher);
  require_vocabulary(config, "distill.model", model.vocab, folder, samples());
  require_positions(config, model, "teacher");
  const text::TextFiles of_teacher = text::read_text_files(teacher);
  const text::TextFiles of_student = text::read_text_files(folder);
  if (of_teacher.tokenizer == of_student.tokenizer &&
      of_teacher.sentence_pieces == of_student.sentence_pieces)
    return;
  throw config.problem(
      "E107", "distill.model",
      "`distill.model` has another tokenizer.json than the student, " + folder.string(),
      "a teacher and a student with the same tokenizer");
}

void DistillMethod::check_weights(const Config& config) const {
  if (!has_targets()) rows::check_model_folder(config, settings_.model, "distill.model");
}

MethodData DistillMethod::read(std::int64_t seq_len, std::int64_t vocab) const {
  if (has_targets()) return read_targets(seq_len, vocab);
  return {.crc = rows::model_fingerprint(settings_.model),
          .note = lm::head_note(settings_.model, lm::read_lm_config(settings_.model))};
}

MethodData DistillMethod::read_targets(std::int64_t seq_len, std::int64_t vocab) const {
  const StoredTargets targets(settings_);
  MethodData data;
  data.crc = targets.check_bytes();
  targets.require_ids_below(vocab);
  StoredExamples stored = targets.read_examples(seq_len);
  data.examples = std::move(stored.examples);
  data.numbers = numbers_of(stored.places);
  if (stored.rows_without > 0)
    data.note =
        report::grouped(stored.rows_without) + " rows of `distill.targets` have nothing to learn";
  return data;
}

std::optional<TrainTask::DataPlace> DistillMethod::data_place() const {
  if (has_targets())
    return TrainTask::DataPlace{"the file of `distill.targets`", "targets",
                                settings_.targets.string()};
  return TrainTask::DataPlace{"`distill.model` or the data", "weights or examples",
                              settings_.model.string()};
}

std::unique_ptr<OpenMethod> DistillMethod::open(const run::RunContext& run, LmData& data) const {
  return std::make_unique<LmTeacher>(run, settings_, data);
}

MethodCosts DistillMethod::costs() const {
  MethodCosts costs;
  costs.loss_pieces =
      has_targets() ? lm::StoredTargetLoss::kPieces : lm::ResidentTeacherLoss::kPieces;
  if (!has_targets())
    costs.resident_parameters = run::num_parameters(lm::read_lm_config(settings_.model));
  if (!samples()) return costs;
  costs.sampled = settings_.on_policy;
  costs.sampling_batch = settings_.drawing.batch_size;
  return costs;
}

LossMeaning DistillMethod::loss_meaning() const {
  const lm::Distillation& how = settings_.how;
  LossMeaning meaning{.name = "distance from the teacher", .is_cross_entropy = false};
  meaning.distance = name_of_distance(settings_);
  if (how.ce_weight > 0.0)
    meaning.name = report::text_of("%.3g cross-entropy + %.3g distance from the teacher",
                                   how.ce_weight, 1.0 - how.ce_weight);
  // If the student samples some completions, the cross-entropy of the data is not reported, because
  // these completions are not in the data.
  if (!samples() && how.ce_weight < 1.0) meaning.ce_weight = how.ce_weight;
  return meaning;
}

std::string DistillMethod::banner() const {
  if (!samples()) return {};
  return report::text_of("; draws %.3g %% of the completions itself", 100.0 * settings_.on_policy);
}

}  // namespace mgpu::recipes
