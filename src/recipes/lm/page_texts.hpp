#pragma once

#include <vector>

#include <mgpu/cluster/group.hpp>

#include "page.hpp"
#include "recipe.hpp"
#include "sample_texts.hpp"
#include "task.hpp"

namespace mgpu::recipes {

/// Returns texts that the start model (the model before training) writes, for comparison with the
/// trained model. Only rank 0 gets texts. No rank gets texts if the start weights are random, or if
/// needs_reference() and has_prompts_only() of the method are both false. Call this function before
/// the newest checkpoint is loaded.
///
/// Ranks:  collective over the world.
std::vector<SampleText> texts_before(const cluster::Group& world, const LmTask& task,
                                     const LmTrainSettings& settings);

/// Adds the texts of the trained model to `plots` of rank 0, with those of the start model
/// (`before`).
/// Ranks:  collective over the world.
void add_samples(const cluster::Group& world, const LmTask& task, const LmTrainSettings& settings,
                 const std::vector<SampleText>& before, LmPlots& plots);

}  // namespace mgpu::recipes
