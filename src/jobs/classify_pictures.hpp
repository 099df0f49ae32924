#pragma once

#include <filesystem>

#include <mgpu/cluster/group.hpp>
#include <mgpu/jobs/classify_config.hpp>
#include <mgpu/report/classify_report.hpp>

namespace mgpu::jobs {

/// What table `samples` of the file says. Groups and mistakes are for rank 0 alone.
///
/// Ranks:  collective over the world. Errors: those of read_table() and read_texts().
report::ClassifyPictures pictures_of(const cluster::Group& world, const std::filesystem::path& path,
                                     const ClassifyConfig& config);

}  // namespace mgpu::jobs
