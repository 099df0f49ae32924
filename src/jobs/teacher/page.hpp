#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>

namespace mgpu::jobs {

/// A token among the teacher's predictions.
struct Guess {
  std::string text;
  double probability = 0.0;
};

/// A token of a text, and what the teacher predicted at its position.
struct ShownToken {
  std::string text;          // "": its bytes are part of a character that the next token completes
  bool is_learned = true;    // false: part of a prompt
  double entropy = -1.0;     // nats; tokens that were not kept count as one class; below 0: unknown
  double probability = 0.0;  // probability of this token; 0: it was not kept
  int place = 0;             // position among the kept tokens, from 1; 0: not kept
  std::vector<Guess> best;   // most probable first
  double rest = 0.0;         // probability of all other tokens
};

struct ShownText {
  std::int64_t row = 0;
  std::int64_t first = 0;   // index of the first shown token in the row
  std::int64_t tokens = 0;  // number of tokens of the row
  std::vector<ShownToken> shown;
};

/// The probability of the k most probable tokens, for several k.
struct KeptMass {
  struct Point {
    std::int64_t k = 0;
    double mean = 0.0;              // mean probability of the k most probable tokens
    double low = 0.0;               // a tenth of the tokens have less
    std::int64_t bytes_fp16 = 0;    // of a token's targets with teacher.store=fp16
    std::int64_t bytes_packed = 0;  // of a token's targets with teacher.store=packed
  };

  std::vector<Point> points;     // by k; the last one is the k of this run
  std::int64_t tokens_seen = 0;  // number of tokens averaged over
};

/// A rank's share of the model, and its use of time while samples were processed.
struct RankPart {
  std::int64_t group = 0;
  std::int64_t first_layer = 0;
  std::int64_t last_layer = 0;  // one past the last layer
  std::int64_t first_head = 0;
  std::int64_t last_head = 0;
  double busy_s = 0.0;
  double waiting_s = 0.0;  // waiting for other ranks of its group
  double idle_s = 0.0;     // without samples to process
};

/// The share of each rank in its copy of the model.
struct RankMap {
  std::int64_t layers = 0;  // of the model
  std::int64_t heads = 0;
  bool on_gpu = false;
  std::vector<RankPart> ranks;  // by rank
};

/// The data of the page of job teacher: texts with predictions, lengths and cuts, probability of
/// the k best tokens and its cost in bytes, ranks and their speed.
struct TeacherPlots {
  std::map<std::string, std::int64_t> statuses;  // "truncated" -> samples
  std::int64_t tokens = 0;                       // number of tokens that the teacher processed
  std::int64_t tokens_left_out = 0;              // tokens of samples that were too long
  std::int64_t longest = 0;                      // tokens of the longest sample
  std::int64_t max_length = 0;                   // tokens that a sample may have
  std::vector<std::int64_t> lengths;             // tokens of each sample, before the sample was cut
  std::vector<std::uint8_t> is_cut;       // [samples] whether each sample was cut or left out
  std::int64_t samples = 0;               // samples with at least one used token
  double bytes_per_token = 0.0;           // bytes of the targets of a token
  std::vector<double> tokens_per_second;  // of each group of ranks; 0: it was idle
  double total_tokens_per_second = 0.0;   // of all groups in this attempt
  std::vector<ShownText> texts;
  std::string entropy_of;  // classes of the entropy: "the 16 most probable tokens"
  KeptMass mass;           // has no points if targets were sampled
  std::string drawn;       // text about the sampled tokens; "" for top k
  RankMap ranks;

  /// Returns the share of padding if all samples were padded to the length of the longest.
  double padding_share() const;
};

/// The page of job teacher.
class TeacherPage : public report::JobPage {
public:
  explicit TeacherPage(TeacherPlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  TeacherPlots plots_;
};

}  // namespace mgpu::jobs
