#include <mgpu/lm/forward/pass_sizes.hpp>
#include <mgpu/run/run_identity.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::run {
namespace {

constexpr const char* kPassSizes = "sizes of passes";

}  // namespace

std::map<std::string, std::string> device_keys(const Config& config, DeviceKind device) {
  if (device == DeviceKind::cpu) return {};
  std::map<std::string, std::string> keys;
  for (const KeySpec* key : config.keys())
    if (key->name.ends_with(".batch_size")) keys.emplace(key->name, config.shown(key->name));
  const lm::PassSizes sizes = lm::pass_sizes(device);
  keys.emplace(kPassSizes, std::to_string(sizes.prefill_tokens) + " prompt tokens, head " +
                               std::to_string(sizes.head_rows) + " x " +
                               std::to_string(sizes.vocabulary_block));
  return keys;
}

std::map<std::string, std::string> device_keys_in(const std::map<std::string, std::string>& keys,
                                                  const Config& config) {
  const auto of_every_device = store::identity_keys(config);
  std::map<std::string, std::string> of_device;
  for (const auto& [name, value] : keys)
    if (name == kPassSizes || (name.ends_with(".batch_size") && !of_every_device.contains(name)))
      of_device.emplace(name, value);
  return of_device;
}

std::string run_identity(const Config& config, const JobKeys& keys,
                         const std::map<std::string, std::string>& of_device) {
  std::string whole = config.identity();
  for (const auto& [name, value] : of_device)
    whole += ", " + name + "=" + value;
  return keys.is_part_of_run() ? whole + ", " + part_text(keys.part) : whole;
}

}  // namespace mgpu::run
