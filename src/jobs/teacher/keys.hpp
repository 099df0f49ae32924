#pragma once

#include <cstdint>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/rows/length_keys.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::jobs {

/// Adds the keys teacher.*.
void add_teacher_keys(KeyTable& table);

/// The settings of job teacher: which predictions it stores for each token, and in which format.
struct TeacherConfig {
  run::JobKeys run;
  rows::ModelRowKeys rows;
  rows::LengthKeys length;
  bool has_draws = false;  // true: teacher.targets is random_sampling, not topk
  std::int64_t top_k = 0;  // topk: number of most probable tokens that are stored at each position
  std::int64_t num_draws = 0;  // random_sampling: tokens sampled at each position, with replacement
  double temperature = 1.0;    // divides the logits before anything else is computed
  bool is_packed = false;      // teacher.store=packed: ids get as few bits as the vocabulary allows
  std::int64_t batch_size = 0;  // samples in one batch of a model; 0: auto
};

/// Checks the rules between keys of job teacher. It reads no files except those of the data set
/// (data.dataset).
/// Errors: Failure (exit 78) if a rule is broken.
void check_teacher_keys(const Config& config);

TeacherConfig read_teacher_config(const Config& config);

/// Returns, for the banner, which predictions are stored: "top 64, float16", "50 draws, packed".
std::string targets_text(const TeacherConfig& config);

}  // namespace mgpu::jobs
