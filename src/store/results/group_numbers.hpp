#pragma once

#include <map>
#include <string>

#include "hdf5.hpp"

namespace mgpu::store {

/// Returns the attributes of an open group that are one number each, by name. Errors: Failure E605
/// (exit 65) when there are too many, or one has a very long name; Hdf5Error.
std::map<std::string, double> numbers_of_group(hid_t group);

}  // namespace mgpu::store
