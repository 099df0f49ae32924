#include "work.hpp"

#include "table.hpp"

namespace mgpu::jobs {

ClassifyWorker::ClassifyWorker(const run::RunContext& run, const ClassifyInputs& inputs,
                               const lm::ModelGroup& group, std::int64_t batch_size)
    : inputs_(inputs),
      group_(group),
      encoder_(inputs.encoder()),
      labels_(group.model(), encoder_, inputs.config, inputs.strategy, batch_size) {
  if (group.is_leader())
    latency_.emplace(run.directory.path(), run.directory.attempt(), run.topology.world().rank());
}

std::vector<ClassifySample> ClassifyWorker::encode(std::int64_t first, std::int64_t count) {
  std::vector<ClassifySample> samples;
  for (const input::Row& row : inputs_.rows.read(first, count))
    samples.push_back(encoder_.encode(row, inputs_.rows.path()));
  return samples;
}

std::vector<GivenLabel> ClassifyWorker::work(std::span<const ClassifySample> samples,
                                             std::int64_t first) {
  return labels_.run(samples, first);
}

std::pair<ClassifySample, GivenLabel> ClassifyWorker::left_out(const std::string& reason) {
  ClassifySample sample;
  sample.facts = {rows::RowStatus::bad_row, reason};
  return {std::move(sample), {}};
}

run::RowTokens ClassifyWorker::tokens(const ClassifySample& sample,
                                      const GivenLabel& /*label*/) const {
  return {.input = std::ssize(sample.ids)};
}

std::vector<std::byte> ClassifyWorker::pack(std::int64_t first,
                                            std::span<const ClassifySample> samples,
                                            std::span<const GivenLabel> labels) {
  return classify_rows(inputs_, first, samples, labels);
}

void ClassifyWorker::finished(const run::Chunk& chunk, double seconds) {
  if (latency_) latency_->add(chunk.first, chunk.count, seconds);
}

}  // namespace mgpu::jobs
