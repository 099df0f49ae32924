#include <algorithm>
#include <iterator>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/training/lm_batch.hpp>

namespace mgpu::lm {
namespace {

void require_length(const std::string& what, std::size_t length, std::size_t wanted,
                    const char* unit) {
  if (length == wanted) return;
  throw ShapeError(what + " has " + std::to_string(length) + " values for " +
                   std::to_string(wanted) + " " + unit);
}

void require_lists(const std::string& name, const TeacherTargets& lists, std::size_t tokens) {
  require_length("the list column `" + name + "`", lists.ends.size(), tokens, "tokens");
  require_length("the tail of the list column `" + name + "`", lists.tail_mass.size(), tokens,
                 "tokens");
  const bool is_whole = std::is_sorted(lists.ends.begin(), lists.ends.end()) &&
                        lists.log_probs.size() == lists.ids.size() &&
                        (lists.ends.empty() || lists.ends.back() == std::ssize(lists.ids));
  if (!is_whole) throw ShapeError("the list column `" + name + "` has lists that do not end well");
}

}  // namespace

const std::vector<double>& column_of(const Columns& columns, std::string_view name) {
  const auto found = columns.find(name);
  if (found != columns.end()) return found->second;
  std::string there;
  for (const auto& [other, values] : columns)
    there += (there.empty() ? "; there are `" : ", `") + other + "`";
  throw ShapeError(std::string("the batch has no column `")
                       .append(name)
                       .append("`")
                       .append(there.empty() ? "; the batch has no columns of this kind" : there));
}

LmSums& LmSums::operator+=(const LmSums& other) {
  loss += other.loss;
  predictions += other.predictions;
  correct += other.correct;
  cross_entropy += other.cross_entropy;
  return *this;
}

void require_whole_columns(const LmBatch& batch) {
  const std::size_t tokens = batch.targets.size();
  const std::size_t sequences = batch.spans.size();
  for (const auto& [name, values] : batch.token_columns)
    require_length("the token column `" + name + "`", values.size(), tokens, "tokens");
  for (const auto& [name, values] : batch.sequence_columns)
    require_length("the sequence column `" + name + "`", values.size(), sequences, "sequences");
  for (const auto& [name, lists] : batch.token_lists)
    require_lists(name, lists, tokens);
  if (!batch.groups.empty())
    require_length("the batch's list of groups", batch.groups.size(), sequences, "sequences");
}

}  // namespace mgpu::lm
