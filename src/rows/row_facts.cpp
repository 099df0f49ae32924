#include <array>

#include <mgpu/rows/row_facts.hpp>

namespace mgpu::rows {
namespace {

constexpr std::array kNames = {"ok", "truncated", "too_long", "bad_row"};

}  // namespace

const char* name_of(RowStatus status) {
  return kNames.at(static_cast<std::size_t>(status));
}

std::vector<std::string> names_of_row_status() {
  return {kNames.begin(), kNames.end()};
}

}  // namespace mgpu::rows
