#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mgpu::store {

/// Returns the numbers in the name of a file. Each # in `form` stands for a number of 4 to 9
/// digits: with attempt_#.rank_#, attempt_0001.rank_0002 gives 1 and 2. Returns nullopt for names
/// of another form.
std::optional<std::vector<std::uint32_t>> numbers_in(std::string_view name, std::string_view form);

}  // namespace mgpu::store
