#include <atomic>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/death_note.hpp>

namespace mgpu {
namespace {

// A signal handler must not allocate memory. So prepare_death_note() stores the path in the
// Activity and the rank in this variable, and write_death_note() makes the text on the stack.
std::atomic<int> prepared_rank{0};

const char* short_name_of(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "unknown";
  }
}

/// Builds the line "RANK WITNESS CAUSE\n" of a death note without allocating memory. The fields are
/// those of DeathNote.
class Line {
public:
  void add(std::string_view text) noexcept {
    const std::size_t n = std::min(text.size(), sizeof bytes_ - size_);
    std::memcpy(bytes_ + size_, text.data(), n);
    size_ += n;
  }
  void add(int number) noexcept {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    add({digits, static_cast<std::size_t>(end - digits)});
  }
  std::string_view text() const noexcept { return {bytes_, size_}; }

private:
  char bytes_[128] = {};
  std::size_t size_ = 0;
};

}  // namespace

void prepare_death_note(const fs::path& file, int own_rank) {
  constexpr std::size_t kMaxPath = 1024;
  const std::string text = file.string();
  prepared_rank = own_rank;
  activity().death_note.set(text.size() < kMaxPath ? text : "");
}

void write_death_note(const char* file, int rank, const char* witness, const char* cause) noexcept {
  if (*file == '\0') return;
  const int note = ::open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (note < 0) return;
  Line line;
  line.add(rank);
  line.add(" ");
  line.add(witness);
  line.add(" ");
  line.add(cause);
  line.add("\n");
  [[maybe_unused]] const ssize_t written = ::write(note, line.text().data(), line.text().size());
  ::close(note);
}

void write_own_death_note(int signal) noexcept {
  write_death_note(activity().death_note.get(), prepared_rank, "self", short_name_of(signal));
}

std::optional<DeathNote> read_death_note(const fs::path& file) {
  std::error_code missing;
  if (!fs::is_regular_file(file, missing)) return std::nullopt;  // a pipe would block
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line) || stream.eof()) return std::nullopt;  // incomplete: no line end
  std::istringstream words(line);
  DeathNote note;
  words >> note.rank >> note.witness >> note.cause;
  if (!words || note.rank < 0) return std::nullopt;
  return note;
}

}  // namespace mgpu
