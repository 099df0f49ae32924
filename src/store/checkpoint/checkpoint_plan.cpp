#include "checkpoint_plan.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::store {
namespace {

using formats::JsonValue;
/// A row of the table of differences. The columns are the name of a tensor, its shape in the
/// checkpoint, and its shape in this training. If the types differ, a type precedes each shape.
/// "-" means that the tensor is missing.
using Row = std::array<std::string, 3>;

constexpr std::size_t kMaxRows = 8;

JsonValue::List list_of(const std::vector<TensorFacts>& tensors) {
  JsonValue::List list;
  for (const TensorFacts& tensor : tensors)
    list.push_back(JsonValue::List{tensor.name, tensor.dtype_name,
                                   JsonValue::List(tensor.shape.begin(), tensor.shape.end()),
                                   tensor.crc32c});
  return list;
}

std::vector<TensorFacts> facts_in(const JsonValue::List& list) {
  std::vector<TensorFacts> tensors;
  for (const JsonValue& entry : list) {
    const auto facts = entry.as<JsonValue::List>();
    tensors.push_back({facts.at(0).as<std::string>(), facts.at(1).as<std::string>(),
                       facts.at(2).as<std::vector<std::int64_t>>(),
                       facts.at(3).as<std::uint32_t>()});
  }
  return tensors;
}

std::string described(std::string_view dtype_name, std::span<const std::int64_t> shape,
                      bool with_dtype) {
  return with_dtype ? std::string(dtype_name) + " " + formats::to_text(shape)
                    : formats::to_text(shape);
}

/// Adds a row for each tensor whose type or shape differs, or that only `stored` or only `own` has.
void compare(const std::vector<TensorFacts>& stored, std::span<const formats::NamedTensor> own,
             std::vector<Row>& rows) {
  std::map<std::string_view, const TensorFacts*> left;
  for (const TensorFacts& tensor : stored)
    left[tensor.name] = &tensor;
  for (const formats::NamedTensor& tensor : own) {
    const std::string_view dtype_name = formats::name_of(tensor.view.dtype);
    const auto found = left.find(tensor.name);
    if (found == left.end()) {
      rows.push_back({tensor.name, "-", described(dtype_name, tensor.shape, false)});
      continue;
    }
    const TensorFacts& there = *found->second;
    left.erase(found);
    const bool other_type = there.dtype_name != dtype_name;
    if (!other_type && there.shape == tensor.shape) continue;
    rows.push_back({tensor.name, described(there.dtype_name, there.shape, other_type),
                    described(dtype_name, tensor.shape, other_type)});
  }
  for (const auto& [name, tensor] : left)
    rows.push_back({tensor->name, described("", tensor->shape, false), "-"});
}

std::vector<std::string> as_table(const std::vector<Row>& rows) {
  std::array<std::size_t, 2> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < widths.size(); ++i)
      line += row[i] + std::string(widths[i] - row[i].size() + 4, ' ');
    lines.push_back(line + row[2]);
  }
  return lines;
}

}  // namespace

std::string to_json(const CheckpointPlan& plan) {
  return formats::to_json_line(
      JsonValue::Members{{"directory", plan.directory},
                         {"found", plan.found},
                         {"model", list_of(plan.model)},
                         {"state", plan.state},
                         {"trainer", list_of(plan.trainer)},
                         {"warnings", JsonValue::List(plan.warnings.begin(), plan.warnings.end())}},
      formats::BadUtf8::replace);
}

CheckpointPlan plan_from_json(std::string_view text) {
  const JsonValue json = formats::parse_json_object(text);
  return {json.get<bool>("found"),
          json.get<std::string>("directory"),
          json.get<std::string>("state"),
          json.get<std::vector<std::string>>("warnings"),
          facts_in(json.get<JsonValue::List>("model")),
          facts_in(json.get<JsonValue::List>("trainer"))};
}

std::vector<TensorFacts> facts_of(const formats::SafetensorsFile& file,
                                  const formats::SafetensorsDigest& digest) {
  std::vector<TensorFacts> facts;
  for (const formats::StoredTensor& tensor : file.tensors())
    facts.push_back({tensor.name, tensor.dtype_name, tensor.shape, digest.tensors.at(tensor.name)});
  return facts;
}

void check_fits(const CheckpointPlan& plan, std::span<const formats::NamedTensor> model,
                std::span<const formats::NamedTensor> trainer) {
  std::vector<Row> rows;
  compare(plan.model, model, rows);
  compare(plan.trainer, trainer, rows);
  if (rows.empty()) return;
  const std::size_t hidden = rows.size() - std::min(rows.size(), kMaxRows);
  rows.resize(rows.size() - hidden);
  rows.insert(rows.begin(), {"tensor", "checkpoint", "this model"});
  std::vector<std::string> lines = as_table(rows);
  if (hidden > 0) lines.push_back("  and " + std::to_string(hidden) + " more");
  throw Failure({"E612", ExitCode::cannot_create,
                 "checkpoint " + plan.directory + " is for another model", std::move(lines),
                 "--resume=never starts afresh"});
}

}  // namespace mgpu::store
