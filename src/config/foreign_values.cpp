#include <algorithm>
#include <array>

#include <mgpu/config/foreign_values.hpp>

namespace mgpu {
namespace {

struct ForeignValue {
  std::string_view theirs;
  std::string_view ours;
};

constexpr auto kForeignValues = std::to_array<ForeignValue>({
    {"float16", "fp16"},
    {"half", "fp16"},
    {"f16", "fp16"},
    {"bfloat16", "bf16"},
    {"float32", "no"},
    {"fp32", "no"},
    {"float32", "fp32"},
    {"none", "no"},
    {"cosine_with_warmup", "cosine"},
    {"warn", "warning"},
    {"warning", "warn"},
    {"gloo", "mpi"},
    {"cpu", "mpi"},
    {"sdpa", "auto"},
    {"flash_attention_2", "flash"},
    {"flash_attention", "flash"},
});

}  // namespace

std::string translated_value(std::string_view text, const std::vector<std::string>& choices) {
  for (const auto& [theirs, ours] : kForeignValues) {
    const bool offered = std::find(choices.begin(), choices.end(), ours) != choices.end();
    if (theirs == text && offered) return std::string(ours);
  }
  return "";
}

}  // namespace mgpu
