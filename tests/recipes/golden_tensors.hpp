#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/safetensors.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>

namespace mgpu::recipes {

/// The tensors of a file of expected numbers.
class GoldenTensors {
public:
  explicit GoldenTensors(const std::filesystem::path& path) : file_(path) {}

  template <class T>
  std::vector<T> values(const std::string& name) const {
    const formats::StoredTensor* tensor = file_.find(name);
    if (tensor == nullptr) throw Error("no golden `" + name + "`");
    std::vector<T> values(tensor->bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
    return values;
  }

private:
  formats::SafetensorsFile file_;
};

/// The results of a SequenceLoss on a batch.
struct WeighedBatch {
  double loss = 0.0;  // divided by the number of terms, like `slopes`
  double accuracy = 0.0;
  std::vector<double> digest;
  lm::BatchSlopes slopes;
};

/// Computes a loss of a batch as training does it on one rank. The groups of the batch must ascend.
inline WeighedBatch weigh_batch(const lm::SequenceLoss& loss, const lm::LmBatch& batch,
                                const lm::TokenValues& values) {
  const auto sequences = lm::sequences_of(batch, values, loss.request());
  std::vector<lm::SequenceFacts> facts;
  std::vector<std::size_t> rows;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    facts.push_back({static_cast<std::size_t>(batch.groups[s]), s, sequences[s].predictions(),
                     loss.facts(sequences[s])});
    rows.push_back(s);
  }
  const lm::SequenceTable table(std::move(facts));
  WeighedBatch weighed;
  weighed.digest = loss.digest(table);
  weighed.slopes = lm::weigh_all(loss, sequences, table, weighed.digest, rows);
  const auto terms = static_cast<double>(loss.terms(table));
  weighed.loss = weighed.slopes.sums.loss / terms;
  weighed.accuracy = static_cast<double>(weighed.slopes.sums.correct) / terms;
  for (std::vector<double>* slopes : {&weighed.slopes.log_probs, &weighed.slopes.head})
    for (double& slope : *slopes)
      slope /= terms;
  return weighed;
}

}  // namespace mgpu::recipes
