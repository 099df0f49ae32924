#include "teacher.hpp"

#include <string>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config_problem.hpp>

namespace mgpu::recipes {
namespace {

void require_vocabulary(const Config& config, const char* key, std::int64_t teachers,
                        std::int64_t students) {
  if (teachers == students) return;
  throw config.problem("E107", key,
                       std::string("`") + key + "` is about a vocabulary of " +
                           std::to_string(teachers) + " tokens, the student has " +
                           std::to_string(students),
                       "a teacher and a student with the same tokenizer");
}

void require_file(const Config& config, const char* key, const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return;
  throw ConfigFailure(
      {{"E603", "there is no such file: " + path.string(), config.place(key), "", ""}},
      ExitCode::no_input);
}

}  // namespace

void check_teacher_files_of(const Config& config, const LmTrainSettings& settings) {
  if (!settings.distill) return;
  const std::int64_t vocab = lm::read_lm_config(settings.folder).vocab;
  if (!settings.distill->targets.empty()) {
    require_file(config, "distill.targets", settings.distill->targets);
    require_vocabulary(config, "distill.targets", StoredTargets(*settings.distill).facts().vocab,
                       vocab);
    return;
  }
  const std::filesystem::path& folder = settings.distill->model;
  require_file(config, "distill.model", folder / "config.json");
  require_file(config, "distill.model", folder / "tokenizer.json");
  require_vocabulary(config, "distill.model", lm::read_lm_config(folder).vocab, vocab);
  if (read_file(folder / "tokenizer.json") == read_file(settings.folder / "tokenizer.json")) return;
  throw config.problem(
      "E107", "distill.model",
      "`distill.model` has another tokenizer.json than the student, " + settings.folder.string(),
      "a teacher and a student with the same tokenizer");
}

LmTeacher::LmTeacher(const run::RunContext& run, const DistillSettings& settings, LmData& data) {
  if (settings.targets.empty()) {
    resident_ = std::make_unique<lm::ModelGroup>(lm::ModelGroup::open(
        settings.model, run.topology, {.backend = run.backend, .device = run.device}));
    loss_ = std::make_unique<lm::ResidentTeacherLoss>(settings.how, resident_->model());
    if (settings.on_policy == 0.0) return;
    sources_.on_policy = {settings.on_policy, settings.drawing};
    sources_.on_policy->generation.stop_ids = std::move(data.stop_ids);
    return;
  }
  cluster::run_together(run.topology.world(), [&] {
    stored_ = std::make_unique<StoredTargets>(settings);
    stored_->set_places(std::move(data.places));
    loss_ = std::make_unique<lm::StoredTargetLoss>(stored_distillation(settings, stored_->facts()));
    sources_.stored = stored_.get();
  });
}

}  // namespace mgpu::recipes
