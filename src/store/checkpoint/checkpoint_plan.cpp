#include "checkpoint_plan.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include <mgpu/base/error.hpp>

namespace mgpu::store {
namespace {

using Json = nlohmann::json;
using Row = std::array<std::string, 3>;  // tensor, in the checkpoint, in this model

constexpr std::size_t kMaxRows = 8;

Json to_json(const std::vector<TensorFacts>& tensors) {
  Json json = Json::array();
  for (const TensorFacts& tensor : tensors)
    json.push_back({tensor.name, tensor.dtype_name, tensor.shape, tensor.crc32c});
  return json;
}

std::vector<TensorFacts> facts_from_json(const Json& json) {
  std::vector<TensorFacts> tensors;
  for (const Json& entry : json)
    tensors.push_back({entry.at(0), entry.at(1), entry.at(2), entry.at(3)});
  return tensors;
}

std::string described(std::string_view dtype_name, std::span<const std::int64_t> shape,
                      bool with_dtype) {
  return with_dtype ? std::string(dtype_name) + " " + formats::to_text(shape)
                    : formats::to_text(shape);
}

/// Adds a row for each tensor that differs, is missing or is extra.
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
  return Json{{"found", plan.found},          {"directory", plan.directory},
              {"state", plan.state},          {"warnings", plan.warnings},
              {"model", to_json(plan.model)}, {"trainer", to_json(plan.trainer)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

CheckpointPlan plan_from_json(std::string_view text) {
  const Json json = Json::parse(text);
  return {json.at("found"),
          json.at("directory"),
          json.at("state"),
          json.at("warnings"),
          facts_from_json(json.at("model")),
          facts_from_json(json.at("trainer"))};
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
