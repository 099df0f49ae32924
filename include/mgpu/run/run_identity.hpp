#pragma once

#include <map>
#include <string>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::run {

/// Returns the values that change results on this kind of device but not on others: on a GPU, the
/// keys *.batch_size and the sizes of passes. A GPU may sum a matrix product in another order when
/// the product has another number of rows. On a CPU the result is empty.
std::map<std::string, std::string> device_keys(const Config& config, DeviceKind device);

/// Returns the result of device_keys() in a run whose run.json has these `keys`. `config` tells
/// which keys count on every device, and so are left out.
std::map<std::string, std::string> device_keys_in(const std::map<std::string, std::string>& keys,
                                                  const Config& config);

/// Returns the identity of a run, made from its configuration, its part (--only I/N) and the result
/// of device_keys(). A run can be resumed only with the same identity.
std::string run_identity(const Config& config, const JobKeys& keys,
                         const std::map<std::string, std::string>& of_device);

}  // namespace mgpu::run
