#include "sequence_survey.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {
namespace {

/// SequenceSurvey::result() sends this header to other ranks for each sequence. The numbers of
/// SequenceLoss::facts() follow it.
struct Header {
  SequenceKey key;
  std::int64_t is_grouped;  // 0: the sequence is a separate group
  std::int64_t predictions;
  std::int64_t facts;  // number of facts
};

struct Row {
  Header header;
  std::vector<double> facts;
};

template <class T>
void append_bytes(const T* values, std::size_t count, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <class T>
void take_bytes(std::string_view& bytes, T* values, std::size_t count) {
  std::memcpy(values, bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
}

void read_rows(std::string_view bytes, std::vector<Row>& rows) {
  while (!bytes.empty()) {
    Row row{};
    take_bytes(bytes, &row.header, 1);
    row.facts.resize(static_cast<std::size_t>(row.header.facts));
    take_bytes(bytes, row.facts.data(), row.facts.size());
    rows.push_back(std::move(row));
  }
}

bool is_in_group_of(const Row& row, const Row& before) {
  return row.header.is_grouped != 0 && row.header.key.group == before.header.key.group;
}

}  // namespace

ItemBatch fill_batch(const LmItems& items, std::uint64_t first, std::int64_t count,
                     PhaseClock* clock) {
  const auto filling = PhaseClock::enter(clock, "waiting for data");
  ItemBatch filled;
  LmBatch& batch = filled.batch;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t ordinal = first + static_cast<std::uint64_t>(i);
    items.append(ordinal, batch);
    for (std::int64_t index = 0; filled.keys.size() < batch.spans.size(); ++index)
      filled.keys.push_back({0, ordinal, index});
  }
  if (!batch.groups.empty() && batch.groups.size() != filled.keys.size())
    throw ShapeError("LmItems: some sequences have a group, and others do not");
  for (std::size_t s = 0; s < batch.groups.size(); ++s)
    filled.keys[s].group = batch.groups[s];
  return filled;
}

void SequenceSurvey::clear() {
  values_.clear();
  measured_.clear();
}

void SequenceSurvey::measure(std::uint64_t first, std::int64_t count) {
  const ItemBatch items = fill_batch(*items_, first, count, clock_);
  const auto measuring = PhaseClock::enter(clock_, "forward");
  const TokenValues values = model_->measure(items.batch, loss_->request());
  const std::vector<MeasuredSequence> sequences =
      sequences_of(items.batch, values, loss_->request());
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const std::vector<double> facts = loss_->facts(sequences[s]);
    const Header header{items.keys[s], items.batch.groups.empty() ? 0 : 1,
                        sequences[s].predictions(), std::ssize(facts)};
    append_bytes(&header, 1, measured_);
    append_bytes(facts.data(), facts.size(), measured_);
  }
  values_[first] = {values, sequences.size()};
}

void SequenceSurvey::read(const std::vector<std::string>& results) {
  std::vector<Row> rows;
  for (const std::string& bytes : results)
    read_rows(bytes, rows);
  std::ranges::sort(rows, {}, [](const Row& row) { return row.header.key; });
  const std::int64_t num_facts = rows.empty() ? 0 : rows.front().header.facts;
  keys_.clear();
  std::vector<SequenceFacts> facts;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].header.facts != num_facts)
      throw ShapeError("SequenceLoss: sequences have different numbers of facts");
    if (r > 0 && rows[r].header.key == rows[r - 1].header.key)
      throw ShapeError("SequenceLoss: a sequence was measured twice");
    const bool joins = r > 0 && is_in_group_of(rows[r], rows[r - 1]);
    const std::size_t group = r == 0 ? 0 : facts.back().group + (joins ? 0 : 1);
    keys_.push_back(rows[r].header.key);
    facts.push_back(
        {group, rows[r].header.key.ordinal, rows[r].header.predictions, std::move(rows[r].facts)});
  }
  table_ = SequenceTable(std::move(facts));
  require_whole_groups();
  digest_ = loss_->digest(table_);
  terms_ = std::max<std::int64_t>(loss_->terms(table_), 1);
}

void SequenceSurvey::require_whole_groups() const {
  const std::int64_t expected = items_->group_size();
  for (std::size_t g = 0; expected > 0 && g < table_.num_groups(); ++g)
    if (std::ssize(table_.group(g)) != expected)
      throw ShapeError("SequenceLoss: a group has " + std::to_string(table_.group(g).size()) +
                       " of its " + std::to_string(expected) +
                       " sequences in the global batch, which is not whole groups");
}

BatchSlopes SequenceSurvey::slopes(std::uint64_t first, const ItemBatch& items) const {
  const auto found = values_.find(first);
  if (found == values_.end() || found->second.sequences != items.keys.size())
    throw Error("SequenceLoss: these items were not measured in one call");
  std::vector<std::size_t> rows;
  for (const SequenceKey& key : items.keys) {
    const auto place = std::ranges::lower_bound(keys_, key);
    if (place == keys_.end() || *place != key)
      throw Error("SequenceLoss: a sequence was not measured");
    rows.push_back(static_cast<std::size_t>(place - keys_.begin()));
  }
  return weigh_all(*loss_, sequences_of(items.batch, found->second.values, loss_->request()),
                   table_, digest_, rows);
}

}  // namespace mgpu::lm
