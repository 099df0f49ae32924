#include <mgpu/run/run_context.hpp>

namespace mgpu::run {

void log_chunk(RunContext& run, const char* phase, std::int64_t samples) {
  run.log.event(
      {"debug",
       {{"text", std::string(phase) + ": a chunk of " + std::to_string(samples) +
                     " is done by rank " + std::to_string(run.topology.world().rank())}}});
}

}  // namespace mgpu::run
