#include "stored_head.hpp"

#include <algorithm>
#include <cstring>

#include <ATen/ATen.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "lm/config/family.hpp"

namespace mgpu::lm {
namespace {

constexpr std::size_t kComparedValues = std::size_t{1} << 20;

/// Returns values [first, first + count) of a stored tensor as float32.
at::Tensor values_at(const formats::StoredTensor& stored, std::size_t first, std::size_t count) {
  const auto type = tensor::scalar_type(*stored.dtype);
  const std::size_t width = at::elementSize(type);
  const at::Tensor raw = at::empty(static_cast<std::int64_t>(count), type);
  std::memcpy(raw.mutable_data_ptr(), stored.bytes.data() + first * width, count * width);
  return raw.to(at::kFloat);
}

bool has_equal_values(const formats::StoredTensor& a, const formats::StoredTensor& b) {
  if (a.shape != b.shape || !a.dtype || !b.dtype) return false;
  const bool has_equal_bytes = a.dtype == b.dtype && a.bytes.size() == b.bytes.size() &&
                               std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
  if (has_equal_bytes) return true;
  const std::size_t values = a.bytes.size() / at::elementSize(tensor::scalar_type(*a.dtype));
  for (std::size_t first = 0; first < values; first += kComparedValues) {
    mark_progress();
    const std::size_t count = std::min(kComparedValues, values - first);
    if (!at::equal(values_at(a, first, count), values_at(b, first, count))) return false;
  }
  return true;
}

}  // namespace

const formats::StoredTensor* find_tensor(const formats::WeightFiles& files,
                                         const std::string& name) {
  const formats::StoredTensor* stored = files.find(name);
  if (stored != nullptr || name == kHeadName) return stored;
  return files.find(std::string_view(name).substr(name.find('.') + 1));
}

StoredHead find_stored_head(const formats::WeightFiles& files, const LmConfig& config) {
  const formats::StoredTensor* head = find_tensor(files, kHeadName);
  if (!config.tied_head || head == nullptr) return StoredHead::as_configured;
  const formats::StoredTensor* tied = find_tensor(files, find_family(config.family)->embedding);
  if (tied == nullptr) return StoredHead::is_embedding;
  return has_equal_values(*tied, *head) ? StoredHead::as_configured : StoredHead::untied;
}

StoredHead find_stored_head(const fs::path& folder, const LmConfig& config) {
  if (!config.tied_head || !formats::has_safetensors(folder)) return StoredHead::as_configured;
  return find_stored_head(formats::WeightFiles(folder), config);
}

}  // namespace mgpu::lm
