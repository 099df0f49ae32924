#include <charconv>
#include <cstdio>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/checkpoint_manifest.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::formats {
namespace {

std::string hex(std::uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

std::uint32_t from_hex(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) throw Error("a CRC is not one");
  return value;
}

JsonValue to_json(const SafetensorsDigest& file) {
  JsonValue::Members json{{"bytes", file.bytes}};
  JsonValue::Members crcs;
  for (const auto& [name, crc] : file.tensors)
    crcs.emplace_back(name, hex(crc));
  if (!crcs.empty()) json.emplace_back("crc32c", std::move(crcs));
  json.emplace_back("sha256", file.sha256);
  return json;
}

SafetensorsDigest digest_from_json(const JsonValue& json) {
  SafetensorsDigest file{json.get<std::uint64_t>("bytes"), json.get<std::string>("sha256"), {}};
  if (json.find("crc32c") == nullptr) return file;
  for (const auto& [name, crc] : json.get<std::map<std::string, std::string>>("crc32c"))
    file.tensors[name] = from_hex(crc);
  return file;
}

}  // namespace

std::string to_json(const CheckpointManifest& manifest) {
  JsonValue::Members files;
  for (const auto& [name, file] : manifest.files)
    files.emplace_back(name, to_json(file));
  JsonValue::Members json;  // sorted by name
  if (!files.empty()) json.emplace_back("files", std::move(files));
  json.emplace_back("format", "mgpu_spmd checkpoint");
  json.emplace_back("format_version", manifest.format_version);
  json.emplace_back("step", manifest.step);
  const std::string crc = hex(crc32c(to_json_line(json)));
  json.emplace(json.end() - 1, "manifest_crc32c", crc);
  return to_json(std::move(json));
}

CheckpointManifest manifest_from_json(std::string_view text) {
  CheckpointManifest manifest;
  const JsonValue json = parse_json_object(text);
  manifest.format_version = json.get<std::int64_t>("format_version");
  if (manifest.format_version > kCheckpointFormat) return manifest;
  manifest.step = json.get<std::int64_t>("step");
  for (const auto& [name, file] : json.get<std::map<std::string, JsonValue>>("files"))
    manifest.files[name] = digest_from_json(file);
  if (to_json(manifest) != text) throw Error("its own checksum or form is wrong");
  return manifest;
}

}  // namespace mgpu::formats
