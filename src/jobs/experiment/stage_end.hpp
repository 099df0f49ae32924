#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/report/summary.hpp>

namespace mgpu::jobs {

/// How a stage ended. The first rank of the stage sends this message to rank 0 of the run.
struct StageEnd {
  std::size_t stage = 0;
  ExitCode exit = ExitCode::done;
  std::string directory{};  // run directory of the stage; "" if it could not be opened
  std::string error{};      // run::failure_text() of the exception that ended the stage; "" if none
  std::string result{};     // line that states the result (JobOutcome::result)
  std::vector<report::Result> results{};  // numbers of the result (JobOutcome::results)
  std::int64_t done = 0;                  // finished steps or samples (JobOutcome::done)
  std::int64_t total = 0;
  std::string unit{};
};

/// The message with which rank 0 of the run tells a rank which stage it runs next.
struct StageOrder {
  bool is_end = false;           // true: there is no more work; the other fields are not used
  std::size_t stage = 0;         // index of the stage to run
  std::vector<int> members{};    // ranks of the run that run the stage, ascending
  std::string chunk_size{};      // value of run.chunk_size for the stage
  std::string identity{};        // identity of the stage's run, see store::RunRequest
  std::uint64_t rank_bytes = 0;  // estimated memory that each of `members` needs; 0: unknown
  std::vector<std::string> directories{};  // run directory of each stage; "" before it has a run
};

/// The functions to_text() return a message for another rank as a line of JSON. The functions
/// end_of() and order_of() parse this text.
std::string to_text(const StageEnd& end);
std::string to_text(const StageOrder& order);
StageEnd end_of(const std::string& text);
StageOrder order_of(const std::string& text);

}  // namespace mgpu::jobs
