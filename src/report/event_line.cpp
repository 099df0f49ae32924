#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/secrets.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/escape.hpp>
#include <mgpu/report/event_line.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

using formats::JsonValue;
using Value = Event::Value;
using Formatter = std::string (*)(const Event&, const Value&);

constexpr std::array<std::string_view, 2> kPositionKeys = {"step", "samples"};

double number_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nan("");
}

std::string plain(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return text_of("%.4g", *real);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return escape_log(std::get<std::string>(value));
}

std::string hidden(const Event& /*event*/, const Value& /*value*/) {
  return "";
}

std::string bare(const Event& /*event*/, const Value& value) {
  return plain(value);
}

std::string count_of(std::string_view unit, const Event& event, const Value& value) {
  const std::optional<Position> at = position_of(event);
  if (!at || at->unit != unit) return std::string(unit) + ' ' + plain(value);
  const double share = static_cast<double>(at->done) / static_cast<double>(at->total);
  return text_of("%s %lld/%lld %.1f%%", at->unit.c_str(), static_cast<long long>(at->done),
                 static_cast<long long>(at->total), 100.0 * share);
}

std::string step(const Event& event, const Value& value) {
  return count_of("step", event, value);
}

std::string samples(const Event& event, const Value& value) {
  return count_of("samples", event, value);
}

std::string loss(const Event& /*event*/, const Value& value) {
  return text_of("loss %.4f", number_of(value));
}

std::string episode_return(const Event& /*event*/, const Value& value) {
  return text_of("return %.1f", number_of(value));
}

std::string samples_per_second(const Event& /*event*/, const Value& value) {
  return rate_text(number_of(value)) + " samples/s";
}

std::string tokens_per_second(const Event& /*event*/, const Value& value) {
  return rate_text(number_of(value)) + " tokens/s";
}

std::string steps_per_second(const Event& /*event*/, const Value& value) {
  return rate_text(number_of(value)) + " step/s";
}

std::string seconds(const Event& /*event*/, const Value& value) {
  return text_of("%.1f s", number_of(value));
}

std::string eta(const Event& /*event*/, const Value& value) {
  return "eta " + plain(value);
}

struct Style {
  std::string_view key;
  Formatter format;
};

/// Fields with a special form in a log line. A field with the formatter `hidden` is not shown,
/// because the text of another field contains its value.
constexpr Style kStyles[] = {
    {"step", step},
    {"samples", samples},
    {"total", hidden},
    {"loss", loss},
    {"return", episode_return},
    {"steps_per_second", steps_per_second},
    {"samples_per_second", samples_per_second},
    {"tokens_per_second", tokens_per_second},
    {"seconds", seconds},
    {"text", bare},
    {"eta_s", eta},
};

std::string field_text(const Event& event, const std::pair<std::string, Value>& field) {
  const auto& [key, value] = field;
  if (is_secret_name(key)) return escape_log(key) + " " + std::string(kHidden);
  const auto* style = std::find_if(std::begin(kStyles), std::end(kStyles),
                                   [&](const Style& row) { return row.key == key; });
  if (style != std::end(kStyles)) return style->format(event, value);
  return escape_log(key) + ' ' + plain(value);
}

JsonValue json_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real)) {
    if (std::isnan(*real)) return "nan";
    return *real > 0 ? "inf" : "-inf";
  }
  return std::visit([](const auto& held) { return JsonValue(held); }, value);
}

}  // namespace

const Event::Value* find_field(const Event& event, std::string_view key) {
  const auto found = std::find_if(event.fields.begin(), event.fields.end(),
                                  [&](const auto& field) { return field.first == key; });
  return found == event.fields.end() ? nullptr : &found->second;
}

std::optional<double> number_field(const Event& event, std::string_view key) {
  const Event::Value* value = find_field(event, key);
  if (value == nullptr || std::holds_alternative<std::string>(*value)) return std::nullopt;
  return number_of(*value);
}

std::optional<Position> position_of(const Event& event) {
  const auto total = number_field(event, "total");
  if (!total || !(*total > 0)) return std::nullopt;
  for (const std::string_view key : kPositionKeys) {
    const auto done = number_field(event, key);
    if (!done) continue;
    return Position{std::string(key), static_cast<std::int64_t>(*done),
                    static_cast<std::int64_t>(*total)};
  }
  return std::nullopt;
}

std::string event_fields(const Event& event) {
  std::string text;
  for (const auto& field : event.fields) {
    const std::string part = field_text(event, field);
    if (part.empty()) continue;
    if (!text.empty()) text += "  ";
    text += part;
  }
  return text;
}

std::string event_line(const Event& event, std::chrono::system_clock::time_point when) {
  const std::string head = utc_seconds(when) + ' ' + pad_right(escape_log(event.word), 6) + ' ';
  return clip(head + event_fields(event), kMaxLine);
}

std::string event_json(const Event& event, std::chrono::system_clock::time_point when,
                       double elapsed_s) {
  JsonValue::Members object{{"time", utc_millis(when)},
                            {"elapsed_s", std::round(elapsed_s * 1e3) / 1e3},
                            {"event", event.word}};
  for (const auto& [key, value] : event.fields) {
    const bool is_known = std::any_of(object.begin(), object.end(),
                                      [&](const auto& member) { return member.first == key; });
    if (is_known) throw Error("event " + event.word + " gives " + key + " twice");
    object.emplace_back(key, is_secret_name(key) ? JsonValue(kHidden) : json_of(value));
  }
  return formats::to_json_line(std::move(object), formats::BadUtf8::replace);
}

}  // namespace mgpu::report
