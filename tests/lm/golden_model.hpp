#pragma once

// Models of the goldens, and inputs for them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/lm/forward/language_model.hpp>

#include "support/project_folder.hpp"

namespace mgpu::lm {

using Ids = std::vector<std::int64_t>;

inline LanguageModel open_golden(const std::string& name, MatrixType matrices = MatrixType::f32) {
  return LanguageModel::open(testing_support::lm_goldens() / name, {.matrices = matrices});
}

/// Returns `count` ids from the vocabulary of 67. The same seed gives the same ids.
inline Ids make_ids(std::size_t count, std::int64_t seed) {
  Ids ids(count);
  for (std::size_t i = 0; i < count; ++i)
    ids[i] = (static_cast<std::int64_t>(i) * 13 + seed * 29 + 3) % 67;
  return ids;
}

/// Makes `count` prompts of 1 to 23 tokens from the vocabulary of 67.
inline std::vector<Ids> make_prompts(std::size_t count) {
  std::vector<Ids> prompts(count);
  for (std::size_t p = 0; p < count; ++p)
    prompts[p] = make_ids((p * 7 + 4) % 23 + 1, static_cast<std::int64_t>(p));
  return prompts;
}

/// Returns the hidden states of one sequence, [ids, D].
inline at::Tensor hidden_of(const LanguageModel& model, const Ids& ids) {
  const SequenceSpan run{ids};
  return model.hidden({&run, 1});
}

}  // namespace mgpu::lm
