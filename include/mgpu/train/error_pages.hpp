#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::train {

/// The --explain texts of the error codes of the training loop.
inline constexpr auto kTrainErrors = std::to_array<ErrorPage>({
    {"E122", "lanes that do not fit",
     "train.lanes has to be a power of two and to divide the global batch, and in layout mode the "
     "ranks have to divide it.",
     "Take the value of the help line. train.lanes=16 suits 1, 2, 4, 8 and 16 ranks."},
    {"E123", "batch smaller than the ranks",
     "Some ranks would have no sequence of the global batch.",
     "Increase train.global_batch_size, or use fewer ranks."},
    {"E703", "gradient that is not finite",
     "The loss or gradient of a step has infinite or NaN values, also when computed again, and "
     "train.max_skipped_steps such batches were already skipped. Such values never reach a "
     "checkpoint.",
     "Try a lower train.learning_rate, a longer train.warmup_steps, or bf16 instead of fp16. The "
     "same command resumes from the last checkpoint."},
    {"E707", "gradient that differs from its repetition",
     "Twice a gradient was infinite or NaN, but finite when computed again from the same inputs. "
     "Equal inputs must give equal gradients, so a device or its memory is faulty.",
     "Exclude the device (devices.gpus, another node); the same command resumes from the last "
     "checkpoint."},
});

}  // namespace mgpu::train
