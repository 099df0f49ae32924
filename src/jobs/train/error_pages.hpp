#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::jobs {

/// The --explain texts of the error codes of job train.
inline constexpr auto kTrainErrors = std::to_array<ErrorPage>({
    {"E125", "model that is not split", "The job keeps its whole model on one GPU.",
     "Set devices.gpus_per_model=1."},
});

}  // namespace mgpu::jobs
