#pragma once

#include <filesystem>

#include <mgpu/cluster/group.hpp>

#include "keys.hpp"
#include "page.hpp"

namespace mgpu::jobs {

/// What table `samples` of the file says. Groups and mistakes are for rank 0 alone.
///
/// Ranks:  collective over the world. Errors: those of read_table() and read_texts().
ClassifyPictures pictures_of(const cluster::Group& world, const std::filesystem::path& path,
                             const ClassifyConfig& config);

}  // namespace mgpu::jobs
