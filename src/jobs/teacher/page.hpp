#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>

namespace mgpu::jobs {

/// A prediction of the teacher: a token and its probability.
struct Guess {
  std::string text;
  double probability = 0.0;
};

/// A token of a text, and what the teacher predicted at its position. Only the predictions that the
/// results store are known.
struct ShownToken {
  std::string text;        // "": its bytes are part of a character that the next token completes
  bool is_learned = true;  // false: part of a prompt
  /// Entropy of the prediction in nats; below 0: unknown. All tokens that are not stored count as
  /// one class.
  double entropy = -1.0;
  double probability = 0.0;  // predicted probability of this token; 0: not stored
  int place = 0;             // position in the stored predictions, from 1; 0: not stored
  std::vector<Guess> best;   // most probable predictions, the most probable first
  double rest = 0.0;         // probability of all tokens that are not in `best`
};

struct ShownText {
  std::int64_t row = 0;
  std::int64_t first = 0;   // index of the first shown token in the row
  std::int64_t tokens = 0;  // number of tokens of the row
  std::vector<ShownToken> shown;
};

/// The probability that the k most probable tokens have together, for several k.
struct KeptMass {
  struct Point {
    std::int64_t k = 0;
    double mean = 0.0;              // mean total probability of the k most probable tokens
    double low = 0.0;               // 10th percentile of that probability over the tokens
    std::int64_t bytes_fp16 = 0;    // bytes per token with teacher.store=fp16
    std::int64_t bytes_packed = 0;  // bytes per token with teacher.store=packed
  };

  std::vector<Point> points;     // in the order of k; the last k is the k of this run
  std::int64_t tokens_seen = 0;  // number of tokens over which the means were computed
};

/// The layers and heads of a model that one rank holds, and how this rank spent the time while
/// samples were processed.
struct RankPart {
  std::int64_t group = 0;
  std::int64_t first_layer = 0;
  std::int64_t last_layer = 0;  // one past the last layer
  std::int64_t first_head = 0;
  std::int64_t last_head = 0;  // one past the last head
  double busy_s = 0.0;
  double waiting_s = 0.0;  // seconds of waiting for other ranks of its group
  double idle_s = 0.0;     // seconds without samples to process
};

/// The layers and heads of a model that each rank holds, and how each rank spent its time.
struct RankMap {
  std::int64_t layers = 0;  // number of layers of the model
  std::int64_t heads = 0;
  bool on_gpu = false;
  std::vector<RankPart> ranks;  // in the order of ranks
};

/// The data that report.html of job teacher shows:
/// - texts with the teacher's predictions
/// - lengths of the samples, and which samples were cut
/// - the probability of the k most probable tokens, and the bytes that storing them takes
/// - the work of each rank, and the speed of each group of ranks
struct TeacherPlots {
  std::map<std::string, std::int64_t> statuses;  // number of samples by status, such as "truncated"
  std::int64_t tokens = 0;                       // number of tokens that the teacher processed
  std::int64_t tokens_left_out = 0;   // tokens not processed, because a sample was too long
  std::int64_t longest = 0;           // tokens of the longest sample
  std::int64_t max_length = 0;        // tokens that a sample may have
  std::vector<std::int64_t> lengths;  // tokens of each sample except bad rows, before it was cut
  std::vector<std::uint8_t>
      is_cut;                // for each of `lengths`: whether the sample was cut or left out
  std::int64_t samples = 0;  // samples of which the teacher processed at least one token
  /// Bytes of the stored predictions of a token. With teacher.targets=random_sampling, this is the
  /// size of the whole file divided by the number of tokens.
  double bytes_per_token = 0.0;
  std::vector<double> tokens_per_second;  // speed of each group of ranks; 0: the group was idle
  double total_tokens_per_second = 0.0;   // speed of all groups in this attempt
  std::vector<ShownText> texts;
  std::string entropy_of;  // what the entropy is computed over: "the 16 most probable tokens ..."
  KeptMass mass;           // has no points with teacher.targets=random_sampling
  std::string drawn;       // text about the sampled tokens; "" for top k
  RankMap ranks;

  /// Returns which share of the tokens would be padding if all samples were padded to the longest.
  double padding_share() const;
};

/// Makes report.html of job teacher and its part of summary.json.
class TeacherPage : public report::JobPage {
public:
  explicit TeacherPage(TeacherPlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  TeacherPlots plots_;
};

}  // namespace mgpu::jobs
