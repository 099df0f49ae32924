#pragma once

#include <vector>

#include <mgpu/cluster/group.hpp>

#include "page.hpp"
#include "recipe.hpp"
#include "sample_texts.hpp"
#include "task.hpp"

namespace mgpu::recipes {

/// Returns texts of the start model, if the method changes the answers of a model that can already
/// answer. Otherwise returns none. Call it before the newest checkpoint is loaded.
/// Ranks:  collective over the world.
std::vector<SampleText> texts_before(const cluster::Group& world, const LmTask& task,
                                     const LmTrainSettings& settings);

/// Adds the texts of the trained model to the page, next to those of the start model.
/// Ranks:  collective over the world.
void add_samples(const cluster::Group& world, const LmTask& task, const LmTrainSettings& settings,
                 const std::vector<SampleText>& before, LmPlots& plots);

}  // namespace mgpu::recipes
