#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/base/random_streams.hpp>

namespace mgpu::ad {

struct SourceOptions {
  double epsilon = 0.05;    // probability of a uniformly random action at any step, in [0, 1]
  std::uint64_t seed = 0;   // seed of the run
  std::uint32_t round = 0;  // like `seed`, selects the random draws (see RandomStream); < 2^24
};

/// A learning algorithm that plays tasks from scratch. Algorithm Distillation trains a model on the
/// histories of its steps.
class Source {
public:
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  Source(Source&&) = delete;
  Source& operator=(Source&&) = delete;

  /// Plays all episodes of history `id` on task `out.task`, and writes the steps to `out`. The
  /// steps depend only on the options, the id and the task, not on the rank. Each id has a random
  /// stream, and step t uses draw t of this stream.
  /// Errors: Error when `out` does not consist of whole episodes.
  virtual void play(std::uint64_t id, HistorySlot out) const = 0;

protected:
  Source() = default;
};

/// Returns the names that make_source accepts.
std::vector<std::string> source_names();

/// Makes the learning algorithm called `name`. It keeps no reference to the environment.
/// Errors: Error for an unknown name; Failure E132 (exit 78) when the source does not support this
///         environment.
std::unique_ptr<Source> make_source(std::string_view name, const Environment& environment,
                                    const SourceOptions& options);

/// Plays all histories of the set `histories` on this rank, and writes the steps to the set.
void play_all(const Source& source, HistorySet& histories);

}  // namespace mgpu::ad
