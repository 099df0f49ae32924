#include <mgpu/report/notes.hpp>

namespace mgpu::report {

NoteFacts facts_of(const std::vector<PhaseRow>& rows) {
  constexpr double kWorthLooking = 0.10;
  NoteFacts facts;
  for (const PhaseRow& row : rows) {
    facts["share/" + row.phase] = row.share;
    facts["rank/" + row.phase] = row.max_rank;
    if (row.share > kWorthLooking && row.mean_s > 0)
      facts["spread/" + row.phase] = row.max_s / row.mean_s - 1.0;
  }
  return facts;
}

}  // namespace mgpu::report
