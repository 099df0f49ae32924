#include "cell_values.hpp"

#include <algorithm>
#include <utility>

namespace mgpu::jobs {
namespace {

/// Returns the product of `cells` and `values`: one copy of each cell for each element of `values`.
/// Each copy has this element as the value of key `name`. Returns `cells` if `values` is empty.
std::vector<CellValues> times(const std::vector<CellValues>& cells, const std::string& name,
                              const std::vector<std::string>& values) {
  if (values.empty()) return cells;
  std::vector<CellValues> product;
  for (const CellValues& cell : cells) {
    for (const std::string& value : values) {
      product.push_back(cell);
      product.back()[name] = value;
    }
  }
  return product;
}

std::vector<std::string> round_numbers(int rounds) {
  std::vector<std::string> numbers;
  for (int round = 0; round < rounds; ++round)
    numbers.push_back(std::to_string(round));
  return numbers;
}

/// Returns whether two values are equal, apart from the case of ASCII letters.
bool is_same_value(const std::string& a, const std::string& b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_selected(const Matrix& matrix, const CellValues& cell) {
  return std::ranges::all_of(matrix.select, [&](const auto& wanted) {
    const auto value = cell.find(wanted.first);
    return value != cell.end() && std::ranges::any_of(wanted.second, [&](const std::string& name) {
             return is_same_value(name, value->second);
           });
  });
}

std::vector<CellValues> selected_cells(const Matrix& matrix) {
  std::vector<CellValues> cells{{}};
  cells = times(cells, "round", round_numbers(matrix.rounds));
  cells = times(cells, "dataset", matrix.datasets);
  cells = times(cells, "model", matrix.models);
  cells = times(cells, "algorithm", matrix.algorithms);
  cells = times(cells, "eta", matrix.etas);
  std::erase_if(cells, [&](const CellValues& cell) { return !is_selected(matrix, cell); });
  return cells;
}

bool is_of_baseline(const Matrix& matrix, const CellValues& cell) {
  const auto algorithm = cell.find("algorithm");
  return algorithm == cell.end() || algorithm->second == matrix.baseline;
}

/// Numbers the combinations of algorithm, data set and model from 0, in the order in which
/// number_of() first gets them.
class Combinations {
public:
  int number_of(CellValues cell) {
    cell.erase("round");
    cell.erase("eta");
    return numbers_.emplace(std::move(cell), count()).first->second;
  }
  int count() const { return static_cast<int>(numbers_.size()); }

private:
  std::map<CellValues, int> numbers_;
};

}  // namespace

bool is_axis(const std::string& name) {
  return std::ranges::find(kAxes, name) != kAxes.end();
}

bool have_no_conflict(const CellValues& a, const CellValues& b) {
  return std::ranges::all_of(a, [&](const auto& value) {
    const auto other = b.find(value.first);
    return other == b.end() || other->second == value.second;
  });
}

int round_of(const CellValues& values) {
  const auto round = values.find("round");
  return round == values.end() ? 0 : std::stoi(round->second);
}

std::string stage_name(const std::string& file_name, const CellValues& values) {
  std::string name = file_name;
  for (const std::string axis : kAxes) {
    const auto value = values.find(axis);
    if (value == values.end() || (axis == "algorithm" && value->second == file_name)) continue;
    name += axis == "round" ? "-r" : axis == "eta" ? "-eta" : "-";
    name += value->second;
  }
  return name;
}

std::vector<CellValues> values_of_cells(const Matrix& matrix) {
  std::vector<CellValues> cells = selected_cells(matrix);
  Combinations combinations;
  std::erase_if(cells, [&](const CellValues& cell) {
    return !is_of_baseline(matrix, cell) &&
           combinations.number_of(cell) % matrix.part.count != matrix.part.index;
  });
  return cells;
}

int num_dealt(const Matrix& matrix) {
  Combinations combinations;
  for (const CellValues& cell : selected_cells(matrix))
    if (!is_of_baseline(matrix, cell)) combinations.number_of(cell);
  return combinations.count();
}

}  // namespace mgpu::jobs
