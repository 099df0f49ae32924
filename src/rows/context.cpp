#include <algorithm>

#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/context.hpp>

namespace mgpu::rows {

std::int64_t context_of(const lm::LmConfig& model) {
  const lm::RopeConfig& rope = model.rope;
  const auto scaled = [&](std::int64_t positions) {
    const auto reach = static_cast<std::int64_t>(rope.factor * static_cast<double>(positions));
    return std::max(model.max_positions, reach);
  };
  switch (rope.kind) {
    case lm::RopeKind::none:
    case lm::RopeKind::dynamic:
      return 0;
    case lm::RopeKind::standard:
      return model.max_positions;
    case lm::RopeKind::linear:
      return scaled(model.max_positions);
    case lm::RopeKind::llama3:
    case lm::RopeKind::yarn:
      return scaled(rope.original_positions);
  }
  return 0;
}

std::string beyond_context_text(std::int64_t tokens, std::int64_t context) {
  return std::to_string(tokens) + " tokens, and the model was made for " + std::to_string(context) +
         " (max_position_embeddings)";
}

std::string beyond_context_warning(std::int64_t count, std::int64_t context,
                                   const std::string& help) {
  if (count == 0) return "";
  return report::grouped(count) + (count == 1 ? " row is" : " rows are") + " longer than the " +
         report::grouped(context) +
         " tokens that the model was made for (max_position_embeddings), where its output may be "
         "nonsense; " +
         help;
}

}  // namespace mgpu::rows
