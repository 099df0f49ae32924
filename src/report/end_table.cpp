#include <algorithm>
#include <numeric>
#include <sstream>

#include <mgpu/report/end_table.hpp>
#include <mgpu/report/escape.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr std::size_t kTableWidth = 96;
// The times of a phase on the fastest and the slowest rank are shown if they differ by more than
// this share of the mean time.
constexpr double kVisibleSpread = 0.02;

const char* heading(Outcome outcome) {
  switch (outcome) {
    case Outcome::done:
      return "finished";
    case Outcome::incomplete:
      return "finished, incomplete";
    case Outcome::stopped:
      return "stopped";
  }
  throw Error("no heading for an outcome");
}

bool on_gpus(const RunSummary& summary) {
  return summary.device == DeviceKind::cuda;
}

std::string title(const RunSummary& summary) {
  std::string text = std::string("--- ") + heading(summary.outcome) + ": " +
                     escape_log(summary.name) +
                     text_of(", %lld of %lld ", static_cast<long long>(summary.done),
                             static_cast<long long>(summary.total)) +
                     summary.unit + ", " + h_mm_ss(summary.wall_s) + " on " +
                     counted(summary.ranks, on_gpus(summary) ? "GPU" : "CPU rank");
  if (on_gpus(summary)) text += text_of(" (%.1f GPU h)", summary.wall_s * summary.ranks / 3600.0);
  text += ' ';
  return text + std::string(kTableWidth - std::min(kTableWidth, width_of(text)), '-') + '\n';
}

std::string phase_note(const PhaseRow& row, const RunSummary& summary) {
  const auto given = summary.phase_notes.find(row.phase);
  if (given != summary.phase_notes.end()) return escape_log(given->second);
  if (summary.ranks > 1 && row.ranks_in_it == 1) return text_of("rank %d only", row.max_rank);
  const bool uneven = row.max_s > 1.25 * row.mean_s && row.share > 0.01;
  return uneven ? text_of("rank %d most", row.max_rank) : "";
}

std::string phase_line(const PhaseRow& row, const RunSummary& summary, bool tenths) {
  std::string text = "  " + pad_right(escape_log(row.phase), 20) +
                     pad_left(m_ss(row.mean_s, tenths), 9) + pad_left(percent(row.share), 10);
  std::string spread;
  const bool shown = summary.ranks > 1 && row.max_s - row.min_s > kVisibleSpread * row.mean_s &&
                     m_ss(row.min_s, tenths) != m_ss(row.max_s, tenths);
  if (shown) spread = m_ss(row.min_s, tenths) + " .. " + m_ss(row.max_s, tenths);
  const std::string note = phase_note(row, summary);
  if (!spread.empty() || !note.empty()) text += "     " + pad_right(spread, note.empty() ? 0 : 20);
  if (!note.empty()) text += ' ' + note;
  return text + '\n';
}

std::string performance_line(const RunSummary& summary) {
  std::string text = "Performance: ";
  if (summary.steps_per_second > 0) text += "  " + rate_text(summary.steps_per_second) + " steps/s";
  if (summary.samples_per_second > 0) {
    text += "   " + rate_text(summary.samples_per_second) + " samples/s (" +
            rate_text(summary.samples_per_second / summary.ranks) + " per " +
            (on_gpus(summary) ? "GPU)" : "rank)");
  }
  if (summary.steps_per_second > 0)
    text += text_of("   %.1f ms/step", 1e3 / summary.steps_per_second);
  return text + '\n';
}

/// Returns `head` and `words`, wrapped into lines with an indent as wide as `head`.
std::string wrapped(const std::string& head, const std::string& words) {
  std::string text = head;
  std::size_t column = width_of(head);
  std::istringstream stream(words);
  bool first = true;
  for (std::string word; stream >> word; first = false) {
    if (!first && column + 1 + width_of(word) > kTableWidth + 22) {
      text += '\n' + std::string(head.size(), ' ');
      column = head.size();
    } else if (!first) {
      text += ' ';
      ++column;
    }
    text += word;
    column += width_of(word);
  }
  return text + '\n';
}

std::string pointers(const RunSummary& summary) {
  std::string text;
  const auto line = [&](const char* label, const std::string& what) {
    if (!what.empty()) text += pad_right(label, 10) + escape_log(what) + '\n';
  };
  line("look at:", summary.report_file);
  if (!summary.tensorboard_folder.empty())
    line("", "tensorboard --logdir " + summary.tensorboard_folder);
  line("results:", summary.results_file);
  line("again:", summary.again_command);
  return text;
}

double gibibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1073741824.0;
}

}  // namespace

std::string end_table(const RunSummary& summary) {
  std::string text = title(summary);
  if (!summary.phases.empty()) {
    text += std::string(27, ' ') + "wall     share";
    text += summary.ranks > 1 ? "     min .. max over ranks\n" : "\n";
  }
  for (const PhaseRow& row : summary.phases)
    text += phase_line(row, summary, summary.wall_s < 600.0);
  if (summary.steps_per_second > 0 || summary.samples_per_second > 0)
    text += performance_line(summary);
  if (summary.skipped > 0) {
    text += text_of("Skipped:       %lld of %lld ", static_cast<long long>(summary.skipped),
                    static_cast<long long>(summary.done)) +
            summary.unit + ": their gradients were infinite or NaN\n";
  }
  text += memory_lines(summary);
  if (!summary.result.empty()) text += wrapped("Result:        ", escape_log(summary.result));
  for (const Note& note : summary.notes)
    text += wrapped("NOTE: ", escape_log(note.sentence()));
  return text + pointers(summary);
}

std::string memory_lines(const RunSummary& summary) {
  if (!summary.gpus.empty()) {
    std::string text = "GPU Memory Summary:\n";
    for (const RunSummary::GpuMemory& gpu : summary.gpus) {
      const std::string where = summary.nodes > 1 ? " (" + escape_log(gpu.host) + ")" : "";
      text += text_of("  GPU %d%s: %.2f GB allocated, %.2f GB reserved, %.2f GB total\n", gpu.rank,
                      where.c_str(), gibibytes(gpu.allocated), gibibytes(gpu.reserved),
                      gibibytes(gpu.total));
    }
    return text;
  }
  const auto& peaks = summary.host_peak_bytes;
  if (peaks.empty()) return "";
  const auto most = std::max_element(peaks.begin(), peaks.end());
  std::string text = "Host Memory Summary:\n  peak " + bytes_text(*most);
  if (peaks.size() > 1) {
    text += text_of(" on rank %td, ", most - peaks.begin()) +
            bytes_text(std::accumulate(peaks.begin(), peaks.end(), std::uint64_t{0})) + " over " +
            counted(std::ssize(peaks), "rank");
  }
  return text + '\n';
}

std::string quiet_lines(const RunSummary& summary, const std::string& folder) {
  const std::string result =
      summary.result.empty() ? "" : "Result:        " + summary.result + '\n';
  return result + "Run:           " + folder + '\n';
}

std::string last_line(const RunSummary& summary) {
  std::string text = std::string("mgpu_spmd: ") + word_of(summary.outcome);
  if (summary.outcome == Outcome::stopped && !summary.resume_command.empty())
    text += ", resume with " + summary.resume_command;
  return text + text_of(", exit %d", static_cast<int>(summary.exit));
}

}  // namespace mgpu::report
