#include "teacher.hpp"

#include <utility>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/results/file_inspection.hpp>

namespace mgpu::recipes {

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
  store::require_inspected(run.topology.world(), settings.targets);
  cluster::run_together(run.topology.world(), [&] {
    stored_ = std::make_unique<StoredTargets>(settings);
    stored_->set_places(places_of(data.method.numbers));
    loss_ = std::make_unique<lm::StoredTargetLoss>(stored_distillation(settings, stored_->facts()));
    sources_.stored = stored_.get();
  });
}

}  // namespace mgpu::recipes
