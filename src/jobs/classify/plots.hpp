#pragma once

#include <filesystem>

#include <mgpu/cluster/group.hpp>

#include "keys.hpp"
#include "page.hpp"

namespace mgpu::jobs {

/// Reads table `samples` of the file `path`, and returns the data of the charts. Only rank 0 gets
/// the members `groups` and `mistakes`, and the ROC curves and areas of `by_label`.
///
/// Ranks:  collective over the world.
/// Errors: those of read_table() and read_texts().
ClassifyPlots plots_of(const cluster::Group& world, const std::filesystem::path& path,
                       const ClassifyConfig& config);

}  // namespace mgpu::jobs
