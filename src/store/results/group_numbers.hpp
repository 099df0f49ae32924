#pragma once

#include <map>
#include <string>

#include "hdf5.hpp"

namespace mgpu::store {

/// Returns, by name, those attributes of an open group that are single numbers.
/// Errors: Failure E605 (exit 65) when the group has more than 4096 attributes, or when the name of
///         one of these numbers has more than 255 bytes; Hdf5Error.
std::map<std::string, double> numbers_of_group(hid_t group);

}  // namespace mgpu::store
