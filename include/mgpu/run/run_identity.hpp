#pragma once

#include <map>
#include <string>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::run {

/// Returns the keys, and other sizes, that change results on this kind of device but not on others.
/// On a GPU, a matrix product may sum in another order when it has another number of rows. So on a
/// GPU, the keys *.batch_size and the sizes of passes belong to the identity of a run.
std::map<std::string, std::string> device_keys(const Config& config, DeviceKind device);

/// Returns the result of device_keys() in a run whose run.json has these `keys`.
std::map<std::string, std::string> device_keys_in(const std::map<std::string, std::string>& keys,
                                                  const Config& config);

/// Returns the identity of a run, made from its configuration, its part (--only I/N) and the result
/// of device_keys(). A run can be resumed only with the same identity.
std::string run_identity(const Config& config, const JobKeys& keys,
                         const std::map<std::string, std::string>& of_device);

}  // namespace mgpu::run
