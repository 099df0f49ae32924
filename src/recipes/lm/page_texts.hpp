#pragma once

#include <vector>

#include <mgpu/cluster/group.hpp>

#include "page.hpp"
#include "recipe.hpp"
#include "sample_texts.hpp"
#include "task.hpp"

namespace mgpu::recipes {

/// Returns texts that the start model writes, for comparison with the trained model. Only rank 0
/// gets texts, and only under two conditions. The start weights are not random, and the method's
/// needs_reference() or has_prompts_only() is true. Call this function before the newest checkpoint
/// is loaded.
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
