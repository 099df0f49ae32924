#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::lm {

/// Error codes of language models.
inline constexpr auto kLmErrors = std::to_array<ErrorPage>({
    {"E126", "model that cannot be split so",
     "The heads, columns or layers of the model cannot be divided among the ranks of a group, or a "
     "map of layers does not name ranks in order.",
     "Take another devices.gpus_per_model or model.parallel, or model.device_map=balanced."},
    {"E701", "model that is not supported",
     "config.json describes a family or a feature that this program does not compute exactly, so "
     "it is refused instead of approximated.",
     "The message lists what is supported."},
    {"E702", "configuration of a model that makes no sense",
     "A value of config.json or generation_config.json is missing, has the wrong type, or "
     "conflicts with another value.",
     "Compare the file with that of the original model."},
    {"E704", "model without an answer",
     "The logits of the model have NaN or infinite values, so no action can be drawn.",
     "Lower train.learning_rate, or start from an earlier checkpoint."},
    {"E705", "weights that are not those of the architecture",
     "The safetensors files lack tensors that config.json requires, have extra ones, or have other "
     "shapes or types.",
     "Take config.json and the weights from the same revision of the same model."},
    {"E706", "weights that are not finite",
     "A tensor of the model has infinite or NaN values, which would spread to all results.",
     "Fetch the file again; if it is the same, the model was saved from a run that had diverged."},
});

}  // namespace mgpu::lm
