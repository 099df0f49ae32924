#include <mgpu/store/journal/payload_upgrade.hpp>

#include "inputs.hpp"
#include "job.hpp"
#include "table.hpp"

namespace mgpu::jobs {

// Chunks of format 1 differ from those of the current format only in the order of the columns.
store::UpgradeChunk TeacherJob::upgrade_chunks() const {
  const TeacherInputs inputs = read_teacher_inputs(config_, keys_);
  std::vector<std::string> order = {"n_tokens",     "all_tokens", "status",       "reason",
                                    "token_ids",    "is_learned", "log_sum_exp",  "num_drawn",
                                    "drawn_packed", "drawn_ids",  "drawn_counts", "topk_packed",
                                    "topk_ids",     "tail_mass",  "topk_logprobs"};
  return store::PayloadUpgrade(
      teacher_table(inputs.rows.rows(), inputs.config, inputs.model.vocab, inputs.kept.names()),
      order, {}, {});
}

}  // namespace mgpu::jobs
