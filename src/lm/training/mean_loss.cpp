#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/lm/training/mean_loss.hpp>

#include "sequence_survey.hpp"

namespace mgpu::lm {
namespace {

/// The sum of losses and the number of correct predictions of each item. Each rank sets the values
/// of the items that it computes. The values of all other items stay 0, so that an all-reduce can
/// add up the vectors of all ranks.
struct ItemSums {
  void resize(std::uint64_t items) {
    loss.resize(items);
    correct.resize(items);
  }
  void set(std::uint64_t item, const LmSums& sums) {
    loss[item] = sums.loss;
    correct[item] = sums.correct;
  }

  std::vector<double> loss;
  std::vector<std::int64_t> correct;
};

/// Calls work(item) for the items of this rank: those whose number modulo group.size() is the rank.
template <class Work>
void for_own_items(const cluster::Group& group, const LmItems& items, const Work& work) {
  for (auto item = static_cast<std::uint64_t>(group.rank()); item < items.epoch_size();
       item += static_cast<std::uint64_t>(group.size()))
    work(item);
}

/// Computes `loss`, which is not a SequenceLoss, for the items of this rank. Sets the values of
/// these items in `sums`. Returns the number of targets in the items of all ranks.
/// Ranks: collective over `group`
std::int64_t sum_items(const cluster::Group& group, const TrainableModel& model,
                       const LmItems& items, const TokenLoss& loss, ItemSums& sums) {
  cluster::run_together(group, [&] {
    for_own_items(group, items, [&](std::uint64_t item) {
      LmBatch batch;
      items.append(item, batch);
      sums.set(item, model.loss(batch, loss));
    });
  });
  std::int64_t targets = 0;
  for (std::uint64_t item = 0; item < items.epoch_size(); ++item)
    targets += items.predictions(item);
  return targets;
}

/// Sends SequenceLoss::facts() of all items, a few numbers per sequence, to all ranks. Then
/// computes the SequenceLoss for the items of this rank, and sets the values of these items in
/// `sums`. Returns SequenceSurvey::terms(), the divisor of the loss.
/// Ranks: collective over `group`
std::int64_t sum_sequences(const cluster::Group& group, SequenceSurvey& survey,
                           const LmItems& items, ItemSums& sums) {
  std::string mine;
  cluster::run_together(group, [&] {
    for_own_items(group, items, [&](std::uint64_t item) { survey.measure(item, 1); });
    mine = survey.result();
  });
  const std::vector<std::string> results = group.all_gather(mine);
  cluster::run_together(group, [&] {
    survey.read(results);
    for_own_items(group, items, [&](std::uint64_t item) {
      sums.set(item, survey.slopes(item, fill_batch(items, item, 1, nullptr)).sums);
    });
  });
  return survey.terms();
}

}  // namespace

void HeldOutItems::append(std::uint64_t ordinal, LmBatch& batch) const {
  windows_->append(ordinal, batch);
  const auto members = static_cast<std::uint64_t>(windows_->group_size());
  if (members > 1) batch.groups.push_back(ordinal / members);
}

MeanLoss mean_loss(const cluster::Group& group, const TrainableModel& model, const LmItems& items,
                   const TokenLoss& loss) {
  ItemSums sums;
  cluster::run_together(group, [&] { sums.resize(items.epoch_size()); });
  std::int64_t terms = 0;
  MeanLoss mean;
  if (const SequenceLoss* sequences = loss.in_two_sweeps()) {
    SequenceSurvey survey(model, items, *sequences, nullptr);
    terms = sum_sequences(group, survey, items, sums);
    mean.digest = survey.digest();
  } else {
    terms = sum_items(group, model, items, loss, sums);
  }
  group.all_reduce(std::span(sums.loss));
  group.all_reduce(std::span(sums.correct));
  for (std::uint64_t item = 0; item < items.epoch_size(); ++item) {
    mean.loss += sums.loss[item];
    mean.accuracy += static_cast<double>(sums.correct[item]);
  }
  const auto divisor = static_cast<double>(std::max<std::int64_t>(terms, 1));
  mean.loss /= divisor;
  mean.accuracy /= divisor;
  return mean;
}

}  // namespace mgpu::lm
