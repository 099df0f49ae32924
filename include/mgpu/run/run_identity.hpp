#pragma once

#include <map>
#include <string>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::run {

/// Returns the values that belong to a run's identity on a GPU, but not on a CPU: the keys
/// *.batch_size, and the sizes of the model's passes (lm::PassSizes). A GPU may sum a matrix
/// product in another order when the product has another number of rows. On a CPU the result is
/// empty.
std::map<std::string, std::string> device_keys(const Config& config, DeviceKind device);

/// Returns the values that device_keys() returned when a run was made. Selects them from `keys`,
/// the keys in the run's run.json. Leaves out the keys that are part of the identity on every
/// device, see store::identity_keys(). `config` is the configuration of the run.
std::map<std::string, std::string> device_keys_in(const std::map<std::string, std::string>& keys,
                                                  const Config& config);

/// Returns the identity of a run, made from its configuration, its part (--only I/N) and the result
/// of device_keys(). A run can be resumed only with the same identity.
std::string run_identity(const Config& config, const JobKeys& keys,
                         const std::map<std::string, std::string>& of_device);

}  // namespace mgpu::run
