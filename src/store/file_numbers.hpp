#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mgpu::store {

/// Returns the numbers in the file name `name`. Each # in `form` stands for a number of 4 to 9
/// digits. For form attempt_#.rank_# and name attempt_0001.rank_0002, returns 1 and 2. Returns
/// nullopt for names of another form.
std::optional<std::vector<std::uint32_t>> numbers_in(std::string_view name, std::string_view form);

}  // namespace mgpu::store
