#include "stage_end.hpp"

#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonValue;

/// Returns a number as text. Messages have texts instead of JSON numbers, because JSON numbers
/// cannot be NaN or infinite.
std::string digits_of(double number) {
  return report::text_of("%.17g", number);
}

double number_in(const JsonValue& value, const char* name) {
  return std::stod(value.get<std::string>(name));
}

JsonValue json_of(const report::Result& result) {
  JsonValue::Members members{{"key", result.key},
                             {"label", result.label},
                             {"value", digits_of(result.value)},
                             {"unit", result.unit},
                             {"decimals", result.decimals}};
  if (result.estimate) {
    members.emplace_back("mean", digits_of(result.estimate->mean));
    members.emplace_back("standard_error", digits_of(result.estimate->standard_error));
    members.emplace_back("low", digits_of(result.estimate->low));
    members.emplace_back("high", digits_of(result.estimate->high));
    members.emplace_back("count", result.estimate->count);
  }
  return members;
}

report::Result result_of(const JsonValue& value) {
  report::Result result{.key = value.get<std::string>("key"),
                        .label = value.get<std::string>("label"),
                        .value = number_in(value, "value"),
                        .unit = value.get<std::string>("unit"),
                        .decimals = value.get<int>("decimals")};
  if (value.find("mean") != nullptr)
    result.estimate = Estimate{.mean = number_in(value, "mean"),
                               .standard_error = number_in(value, "standard_error"),
                               .low = number_in(value, "low"),
                               .high = number_in(value, "high"),
                               .count = value.get<std::int64_t>("count")};
  return result;
}

JsonValue::List texts_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

std::string to_text(const StageEnd& end) {
  JsonValue::List results;
  for (const report::Result& result : end.results)
    results.push_back(json_of(result));
  return formats::to_json_line(JsonValue::Members{{"stage", end.stage},
                                                  {"exit", static_cast<int>(end.exit)},
                                                  {"directory", end.directory},
                                                  {"error", end.error},
                                                  {"result", end.result},
                                                  {"results", std::move(results)},
                                                  {"done", end.done},
                                                  {"total", end.total},
                                                  {"unit", end.unit}},
                               formats::BadUtf8::replace);
}

StageEnd end_of(const std::string& text) {
  const JsonValue value = formats::parse_json_object(text);
  StageEnd end{.stage = value.get<std::size_t>("stage"),
               .exit = static_cast<ExitCode>(value.get<int>("exit")),
               .directory = value.get<std::string>("directory"),
               .error = value.get<std::string>("error"),
               .result = value.get<std::string>("result"),
               .done = value.get<std::int64_t>("done"),
               .total = value.get<std::int64_t>("total"),
               .unit = value.get<std::string>("unit")};
  for (const JsonValue& result : *value.at("results").list())
    end.results.push_back(result_of(result));
  return end;
}

std::string to_text(const StageOrder& order) {
  return formats::to_json_line(
      JsonValue::Members{{"is_end", order.is_end},
                         {"stage", order.stage},
                         {"members", JsonValue::List(order.members.begin(), order.members.end())},
                         {"chunk_size", order.chunk_size},
                         {"identity", order.identity},
                         {"rank_bytes", order.rank_bytes},
                         {"directories", texts_of(order.directories)}});
}

StageOrder order_of(const std::string& text) {
  const JsonValue value = formats::parse_json_object(text);
  return {.is_end = value.get<bool>("is_end"),
          .stage = value.get<std::size_t>("stage"),
          .members = value.get<std::vector<int>>("members"),
          .chunk_size = value.get<std::string>("chunk_size"),
          .identity = value.get<std::string>("identity"),
          .rank_bytes = value.get<std::uint64_t>("rank_bytes"),
          .directories = value.get<std::vector<std::string>>("directories")};
}

}  // namespace mgpu::jobs
