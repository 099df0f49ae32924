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
  std::string text;          // "": the next token completes the character
  bool is_learned = true;    // false: of a prompt
  double entropy = -1.0;     // nats, one class for tokens not kept; below 0: unknown
  double probability = 0.0;  // of this token; 0: it was not kept
  int place = 0;             // rank among the kept tokens, from 1; 0: not kept
  std::vector<Guess> best;   // most probable first
  double rest = 0.0;         // probability of all other tokens
};

struct ShownText {
  std::int64_t row = 0;
  std::int64_t first = 0;   // index of its first token in the row
  std::int64_t tokens = 0;  // of the row
  std::vector<ShownToken> shown;
};

/// Probability mass of the first k tokens of each list, for several k.
struct KeptMass {
  struct Point {
    std::int64_t k = 0;
    double mean = 0.0;              // probability of the k most probable tokens
    double low = 0.0;               // a tenth of the tokens has less
    std::int64_t bytes_fp16 = 0;    // of a token's targets with teacher.store=fp16
    std::int64_t bytes_packed = 0;  // the same with packed
  };

  std::vector<Point> points;     // by k; the last one is the k of this run
  std::int64_t tokens_seen = 0;  // number of tokens averaged over
};

/// The place of a rank in the model, and its use of time while samples were processed.
struct RankPart {
  std::int64_t group = 0;
  std::int64_t first_layer = 0;
  std::int64_t last_layer = 0;  // one past the last layer
  std::int64_t first_head = 0;
  std::int64_t last_head = 0;
  double busy_s = 0.0;
  double waiting_s = 0.0;  // for other ranks of its copy
  double idle_s = 0.0;     // without samples
};

/// The share of each rank in its copy of the model.
struct RankMap {
  std::int64_t layers = 0;  // of the model
  std::int64_t heads = 0;
  bool on_gpu = false;
  std::vector<RankPart> ranks;  // by rank
};

/// The data of the page of job teacher: texts with predictions, lengths and cuts, kept mass and its
/// size, ranks and their speed.
struct TeacherPlots {
  std::map<std::string, std::int64_t> statuses;  // "truncated" -> samples
  std::int64_t tokens = 0;                       // seen by the teacher
  std::int64_t tokens_left_out = 0;              // of samples that were too long
  std::int64_t longest = 0;                      // tokens of a sample
  std::int64_t max_length = 0;                   // that a sample may have
  std::vector<std::int64_t> lengths;             // tokens of each sample before it was cut
  std::vector<std::uint8_t> is_cut;              // whether each of these was cut or left out
  std::int64_t samples = 0;                      // of which some tokens are used
  double bytes_per_token = 0.0;                  // of targets
  std::vector<double> tokens_per_second;         // of each group of ranks; 0: it was idle
  double total_tokens_per_second = 0.0;          // of all groups in this attempt
  std::vector<ShownText> texts;
  std::string entropy_of;  // "the 16 most probable tokens": classes of the entropy
  KeptMass mass;           // without points if targets were sampled
  std::string drawn;       // text about samples; "" for top k
  RankMap ranks;

  /// The share of padding if all samples were padded to the longest one.
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
