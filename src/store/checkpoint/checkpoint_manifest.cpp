#include "checkpoint_manifest.hpp"

#include <charconv>
#include <cstdio>

#include <nlohmann/json.hpp>

#include <mgpu/base/error.hpp>
#include <mgpu/store/checkpoint/checkpoint_state.hpp>

namespace mgpu::store {
namespace {

using Json = nlohmann::json;

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

Json to_json(const formats::SafetensorsDigest& file) {
  Json json{{"bytes", file.bytes}, {"sha256", file.sha256}};
  for (const auto& [name, crc] : file.tensors)
    json["crc32c"][name] = hex(crc);
  return json;
}

formats::SafetensorsDigest digest_from_json(const Json& json) {
  formats::SafetensorsDigest file{json.at("bytes").get<std::uint64_t>(), json.at("sha256"), {}};
  if (!json.contains("crc32c")) return file;
  for (const auto& [name, crc] : json.at("crc32c").get_ref<const Json::object_t&>())
    file.tensors[name] = from_hex(crc.get<std::string>());
  return file;
}

}  // namespace

std::string to_json(const CheckpointManifest& manifest) {
  Json json{{"format", "mgpu_spmd checkpoint"},
            {"format_version", manifest.format_version},
            {"step", manifest.step}};
  for (const auto& [name, file] : manifest.files)
    json["files"][name] = to_json(file);
  json["manifest_crc32c"] = hex(crc32c(json.dump()));
  return json.dump(2) + "\n";
}

CheckpointManifest manifest_from_json(std::string_view text) {
  CheckpointManifest manifest;
  try {
    const Json json = Json::parse(text);
    manifest.format_version = json.at("format_version").get<std::int64_t>();
    if (manifest.format_version > kCheckpointFormat) return manifest;
    manifest.step = json.at("step").get<std::int64_t>();
    for (const auto& [name, file] : json.at("files").get_ref<const Json::object_t&>())
      manifest.files[name] = digest_from_json(file);
  } catch (const Json::exception& e) {
    throw Error(e.what());
  }
  if (to_json(manifest) != text) throw Error("its own checksum or form is wrong");
  return manifest;
}

}  // namespace mgpu::store
