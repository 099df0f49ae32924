#include <array>
#include <string>

#include <mgpu/ad/history.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

namespace mgpu::ad {
namespace {

[[noreturn]] void refuse(const Environment& environment, std::uint64_t id, std::size_t t) {
  throw Failure({.code = "E521",
                 .exit = ExitCode::data,
                 .sentence = "history " + std::to_string(id) + " was not played in `" +
                             environment.name() + "`: step " + std::to_string(t) +
                             " does not land where, or earn what, it would there",
                 .lines = {},
                 .help = "data.env and data.env_split_seed have to be those that made the file"});
}

}  // namespace

HistorySet::HistorySet(const Environment& environment, HistoryShape shape, std::uint64_t first_id,
                       std::size_t count)
    : shape_(shape), first_id_(first_id) {
  if (shape.streams < 1 || shape.episodes < 1 || shape.horizon != environment.horizon())
    throw Error("histories without steps, or of another horizon");
  const std::size_t total_ids = total(environment, shape);
  if (first_id > total_ids || count > total_ids - first_id)
    throw Error("histories past the last id, " + std::to_string(total_ids));

  const auto streams = static_cast<std::uint64_t>(shape.streams);
  for (std::uint64_t id = first_id; id < first_id + count; ++id) {
    task_.push_back(environment.train_tasks()[id / streams]);
    stream_.push_back(static_cast<std::int32_t>(id % streams));
  }
  action_.resize(count * shape.steps());
  reward_.resize(count * shape.steps());
  landing_.resize(count * shape.steps());
}

HistorySet::HistorySet(const Environment& environment, HistoryShape shape)
    : HistorySet(environment, shape, 0, total(environment, shape)) {}

std::size_t HistorySet::total(const Environment& environment, const HistoryShape& shape) {
  return environment.train_tasks().size() * static_cast<std::size_t>(shape.streams);
}

History HistorySet::operator[](std::size_t index) const {
  const std::size_t steps = shape_.steps();
  return {task_.at(index), stream_.at(index), action().subspan(index * steps, steps),
          reward().subspan(index * steps, steps), landing().subspan(index * steps, steps)};
}

HistorySlot HistorySet::slot(std::size_t index) {
  const std::size_t steps = shape_.steps();
  return {task_.at(index), stream_.at(index), action().subspan(index * steps, steps),
          reward().subspan(index * steps, steps), landing().subspan(index * steps, steps)};
}

std::vector<double> mean_returns(const HistorySet& histories) {
  const auto horizon = static_cast<std::size_t>(histories.shape().horizon);
  const auto episodes = static_cast<std::size_t>(histories.shape().episodes);
  std::vector<std::uint64_t> sums(episodes);
  for (std::size_t i = 0; i < histories.size(); ++i) {
    const History history = histories[i];
    for (std::size_t t = 0; t < history.reward.size(); ++t)
      sums[t / horizon] += history.reward[t];
  }
  std::vector<double> means;
  means.reserve(episodes);
  for (const std::uint64_t sum : sums)
    means.push_back(static_cast<double>(sum) / static_cast<double>(histories.size()));
  return means;
}

std::uint32_t crc_of(const HistorySet& histories) {
  const HistoryShape& shape = histories.shape();
  const std::array sizes{shape.streams, shape.episodes, shape.horizon};
  std::uint32_t crc = crc32c(std::as_bytes(std::span(sizes)));
  crc = crc32c(std::as_bytes(histories.task()), crc);
  crc = crc32c(std::as_bytes(histories.stream()), crc);
  for (const auto column : {histories.action(), histories.reward(), histories.landing()})
    crc = crc32c(std::as_bytes(column), crc);
  return crc;
}

void check_histories(const Environment& environment, const HistorySet& histories) {
  const auto horizon = static_cast<std::size_t>(environment.horizon());
  for (std::size_t i = 0; i < histories.size(); ++i) {
    const History history = histories[i];
    int state = 0;
    for (std::size_t t = 0; t < history.action.size(); ++t) {
      if (t % horizon == 0) state = environment.start_state();
      if (history.action[t] >= environment.num_actions())
        refuse(environment, histories.first_id() + i, t);
      const Environment::Step step = environment.step(history.task, state, history.action[t]);
      if (step.next_state != history.landing[t] || step.reward != history.reward[t])
        refuse(environment, histories.first_id() + i, t);
      state = step.next_state;
    }
  }
}

}  // namespace mgpu::ad
