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
  std::uint32_t round = 0;  // round of the experiment, < 2^24
};

/// A learning algorithm whose behavior will be distilled. It plays a task from scratch.
class Source {
public:
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  Source(Source&&) = delete;
  Source& operator=(Source&&) = delete;

  /// Plays history `id` of task `out.task` with all its episodes. The result is a pure function of
  /// the options, the id and the task: draw t of the id's random stream decides step t on any rank.
  /// Errors: Error when `out` does not hold whole episodes.
  virtual void play(std::uint64_t id, HistorySlot out) const = 0;

protected:
  Source() = default;
};

/// Returns the names that make_source accepts.
std::vector<std::string> source_names();

/// Makes a source, which keeps no reference to the environment. Errors: Error for an unknown name;
/// Failure E132 (exit 78) when the source does not support this environment.
std::unique_ptr<Source> make_source(std::string_view name, const Environment& environment,
                                    const SourceOptions& options);

/// Plays every history of the set.
void play_all(const Source& source, HistorySet& histories);

}  // namespace mgpu::ad
