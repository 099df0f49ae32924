#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace mgpu::store {

using StateValue = std::variant<std::int64_t, double, std::string>;

/// The scalars of a checkpoint, stored in state.json. state_from_json() restores each number with
/// its type and exact value, including infinities and NaN.
struct CheckpointState {
  std::int64_t step = 0;                     // optimizer steps done, >= 0
  std::int64_t consumed_samples = 0;         // training samples used so far, all epochs together
  std::optional<double> best_metric;         // best result of an evaluation so far; empty: none yet
  std::map<std::string, StateValue> values;  // other scalars, by name

  friend bool operator==(const CheckpointState&, const CheckpointState&) = default;
};

/// Returns the text of state.json.
/// Errors: Error when a text of the state is not UTF-8.
std::string to_json(const CheckpointState& state);

/// Parses state.json.
/// Errors: Error with the reason when `text` is not a state.json of format 1.
CheckpointState state_from_json(std::string_view text);

}  // namespace mgpu::store
