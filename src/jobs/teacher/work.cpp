#include "work.hpp"

#include "table.hpp"

namespace mgpu::jobs {

TeacherWorker::TeacherWorker(const TeacherInputs& inputs, lm::ModelGroup& group,
                             std::int64_t batch_size)
    : inputs_(inputs),
      group_(group),
      encoder_(inputs.encoder()),
      teacher_(group.model(), inputs.config, batch_size) {}

std::vector<TeacherSample> TeacherWorker::encode(std::int64_t first, std::int64_t count) {
  std::vector<TeacherSample> samples;
  for (const input::Row& row : inputs_.rows.read(first, count))
    samples.push_back(encoder_.encode(row, inputs_.rows.path()));
  return samples;
}

std::vector<TokenTargets> TeacherWorker::work(std::span<const TeacherSample> samples,
                                              std::int64_t first) {
  std::vector<std::vector<std::int64_t>> texts;
  for (const TeacherSample& sample : samples)
    texts.push_back(sample.text.ids);
  group_.start_clock();
  std::vector<TokenTargets> targets = teacher_.run(texts, first);
  waiting_s_ += group_.times().waiting_s;
  return targets;
}

std::pair<TeacherSample, TokenTargets> TeacherWorker::left_out(const std::string& reason) {
  return {{{}, 0, {rows::RowStatus::bad_row, reason}}, {}};
}

run::RowTokens TeacherWorker::tokens(const TeacherSample& sample,
                                     const TokenTargets& /*targets*/) const {
  return {.input = std::ssize(sample.text.ids)};
}

std::vector<std::byte> TeacherWorker::pack(std::int64_t first,
                                           std::span<const TeacherSample> samples,
                                           std::span<const TokenTargets> targets) {
  return teacher_rows(inputs_, first, samples, targets);
}

}  // namespace mgpu::jobs
