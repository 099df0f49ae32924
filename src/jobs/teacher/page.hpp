#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>

namespace mgpu::jobs {

/// A token that the teacher thought possible.
struct Guess {
  std::string text;
  double probability = 0.0;
};

/// A token of a text, and what the teacher said of it before it came.
struct ShownToken {
  std::string text;        // "": the next token completes it
  bool is_learned = true;  // false: of a prompt
  double entropy = -1.0;   // nats, all tokens that were not kept as one; below 0: nothing is known
  double probability = 0.0;  // of this token; 0: it was not kept
  int place = 0;             // among the kept tokens, from 1; 0: it was not kept
  std::vector<Guess> best;   // most probable first
  double rest = 0.0;         // probability of all other tokens
};

struct ShownText {
  std::int64_t row = 0;
  std::int64_t first = 0;   // token of the row's
  std::int64_t tokens = 0;  // of the row
  std::vector<ShownToken> shown;
};

/// What the first k tokens of each list have, for some k.
struct KeptMass {
  struct Point {
    std::int64_t k = 0;
    double mean = 0.0;              // probability of the k most probable tokens
    double low = 0.0;               // a tenth of the tokens have less
    std::int64_t bytes_fp16 = 0;    // of a token's targets with teacher.store=fp16
    std::int64_t bytes_packed = 0;  // with packed
  };

  std::vector<Point> points;     // by k; the last is what this run has kept
  std::int64_t tokens_seen = 0;  // that the means are over
};

/// Where a rank stands, and how it spent the time in which samples were worked on.
struct RankPart {
  std::int64_t group = 0;
  std::int64_t first_layer = 0;
  std::int64_t last_layer = 0;  // one more than the last
  std::int64_t first_head = 0;
  std::int64_t last_head = 0;
  double busy_s = 0.0;
  double waiting_s = 0.0;  // for other ranks of its copy
  double idle_s = 0.0;     // without samples
};

/// Which rank holds what of its copy of the model.
struct RankMap {
  std::int64_t layers = 0;  // of the model
  std::int64_t heads = 0;
  bool on_gpu = false;
  std::vector<RankPart> ranks;  // by rank
};

/// What job teacher shows: texts with what the teacher thought, lengths with what was cut, what was
/// kept and its size, ranks and their speed.
struct TeacherPictures {
  std::map<std::string, std::int64_t> statuses;  // "truncated" -> samples
  std::int64_t tokens = 0;                       // that the teacher saw
  std::int64_t tokens_left_out = 0;              // of samples that were too long
  std::int64_t longest = 0;                      // tokens of a sample
  std::int64_t max_length = 0;                   // that a sample may have
  std::vector<std::int64_t> lengths;             // tokens of each sample before it was cut
  std::vector<std::uint8_t> is_cut;              // of each of these: cut or left out
  std::int64_t samples = 0;                      // of which something is left
  double bytes_per_token = 0.0;                  // of targets
  std::vector<double> tokens_per_second;         // of each group of ranks; 0: it did nothing
  double total_tokens_per_second = 0.0;          // of all in this attempt
  std::vector<ShownText> texts;
  std::string entropy_of;  // "the 16 most probable tokens": what entropies are made of
  KeptMass mass;           // without points where targets were drawn
  std::string drawn;       // what is to say of draws; "" where there are none
  RankMap ranks;

  /// Of a rectangle as long as the longest sample: the share that no sample fills.
  double padding_share() const;
};

/// The page of job teacher.
class TeacherPage : public report::JobPage {
public:
  explicit TeacherPage(TeacherPictures pictures) : pictures_(std::move(pictures)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlReport page(const report::RunSummary& summary) const override;

private:
  TeacherPictures pictures_;
};

}  // namespace mgpu::jobs
