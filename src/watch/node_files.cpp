#include "node_files.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace mgpu::watch {
namespace {

/// Precedes the slots in a file. `number` counts the writes of the file, and is repeated after the
/// slots. If a reader sees half of one write and half of the next, the two numbers differ.
struct Header {
  std::uint64_t run = 0;
  std::uint64_t number = 0;
  int verdict = Verdict::none;
  char text[Verdict::kTextBytes] = {};
};

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

NodeFiles::NodeFiles(Layout layout)
    : layout_(std::move(layout)), last_read_(layout_.ranks_of.size()) {
  std::error_code ignored;  // without the folder, publish() fails, and the other nodes report this
                            // node as lost
  fs::create_directories(layout_.directory, ignored);
}

fs::path NodeFiles::file_of(int node) const {
  return layout_.directory / ("node_" + std::to_string(node));
}

std::size_t NodeFiles::bytes_of(int node) const {
  const std::size_t ranks = layout_.ranks_of[static_cast<std::size_t>(node)].size();
  return sizeof(Header) + ranks * sizeof(Slot) + sizeof(std::uint64_t);
}

void NodeFiles::publish(const SharedState& shared) {
  ++published_;
  Header header;
  header.run = layout_.run;
  header.number = published_;
  header.verdict = shared.verdict().state.load();
  if (header.verdict >= Verdict::published) {
    std::memcpy(header.text, shared.verdict().text, sizeof header.text);
  }
  std::string bytes;
  put(bytes, header);
  for (const int rank : layout_.ranks_of[static_cast<std::size_t>(layout_.own_node)])
    put(bytes, shared.slots()[static_cast<std::size_t>(rank)]);
  put(bytes, published_);
  const FdHandle file(
      ::open(file_of(layout_.own_node).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (!file) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), 0);
}

NodeFiles::Update NodeFiles::read(int node, const SharedState& shared) {
  const auto index = static_cast<std::size_t>(node);
  std::string bytes(bytes_of(node), '\0');
  // The file is opened each time, because NFS asks the server for changes only on open.
  const FdHandle file(::open(file_of(node).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::pread(file.get(), bytes.data(), bytes.size(), 0) != std::ssize(bytes)) return {};
  Header header;
  std::uint64_t number = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(&number, bytes.data() + bytes.size() - sizeof number, sizeof number);
  const bool is_whole = header.run == layout_.run && header.number == number;
  if (!is_whole || number == last_read_[index]) return {};
  last_read_[index] = number;
  const char* from = bytes.data() + sizeof header;
  for (const int rank : layout_.ranks_of[index]) {
    Slot& slot = shared.slots()[static_cast<std::size_t>(rank)];
    std::memcpy(static_cast<void*>(&slot), from, sizeof slot);
    from += sizeof slot;
  }
  header.text[Verdict::kTextBytes - 1] = '\0';
  return {true, header.verdict, header.text};
}

void NodeFiles::remove() noexcept {
  ::unlink(file_of(layout_.own_node).c_str());
  ::rmdir(layout_.directory.c_str());  // fails while another node's file exists
}

}  // namespace mgpu::watch
