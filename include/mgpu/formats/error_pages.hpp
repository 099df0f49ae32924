#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::formats {

/// Error codes of safetensors and JSON files of models, with the texts that --explain prints.
inline constexpr auto kFormatsErrors = std::to_array<ErrorPage>({
    {"E621", "malformed safetensors file",
     "The file violates the format: it is truncated, its tensors overlap, or its header is wrong.",
     "Fetch or write it again."},
    {"E622", "a Git LFS pointer or a pickle",
     "A file of a model is a Git LFS pointer, or its weights are a pickle.",
     "Fetch the files (git lfs pull), or convert the weights to safetensors."},
    {"E623", "JSON file of a model that cannot be used",
     "config.json, generation_config.json or the index of the weights is not one JSON object in "
     "UTF-8, has a name twice, or is nested deeper than 32 levels.",
     "Fetch the file again."},
    {"E624", "weights that do not fit together",
     "model.safetensors.index.json and the weight files disagree, or it names a file outside the "
     "folder.",
     "Fetch the folder again, with all files of the same revision."},
});

}  // namespace mgpu::formats
