#include "agree.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace mgpu::store {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 30;  // MPI 3.1 counts are int
constexpr int kTag = 17;

/// Fields end with '\0', which a report never holds.
std::string pack(const Report& report) {
  std::string text = report.code + '\0' + std::to_string(static_cast<int>(report.exit)) + '\0' +
                     report.sentence + '\0' + report.help + '\0';
  for (const std::string& line : report.lines)
    text += line + '\0';
  return text;
}

Report unpack(const std::string& text) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  Report report{
      fields.at(0), static_cast<ExitCode>(std::stoi(fields.at(1))), fields.at(2), {}, fields.at(3)};
  report.lines.assign(fields.begin() + 4, fields.end());
  return report;
}

}  // namespace

std::optional<Report> agree(const cluster::Group& group, const std::function<void()>& step) {
  std::string packed;
  std::int32_t first = group.size();  // one past the last rank: nobody failed
  try {
    step();
  } catch (const std::exception& error) {
    first = group.rank();
    packed = pack(report_of(error));
  }
  group.all_reduce(std::span(&first, 1), cluster::ReduceOp::min);
  if (first == group.size()) return std::nullopt;
  Report report = unpack(group.broadcast(std::move(packed), first));
  if (group.size() > 1) report.lines.push_back("  on rank " + std::to_string(first));
  return report;
}

void together(const cluster::Group& group, const std::function<void()>& step) {
  if (std::optional<Report> report = agree(group, step)) throw Failure(std::move(*report));
}

std::string on_rank_0(const cluster::Group& group, const std::function<std::string()>& step) {
  std::string text;
  together(group, [&] {
    if (group.rank() == 0) text = step();
  });
  return group.broadcast(std::move(text), 0);
}

std::vector<std::byte> all_gather_bytes(const cluster::Group& group,
                                        std::span<const std::byte> mine) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(group.size()), 0);
  sizes[static_cast<std::size_t>(group.rank())] = static_cast<std::int64_t>(mine.size());
  group.all_reduce(std::span(sizes));
  std::vector<std::byte> all;
  std::size_t total = 0;
  for (const std::int64_t size : sizes)
    total += static_cast<std::size_t>(size);
  all.resize(total);
  std::size_t at = 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto size = static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank)]);
    const std::span<std::byte> part(all.data() + at, size);
    if (rank == group.rank()) std::copy(mine.begin(), mine.end(), part.begin());
    broadcast_bytes(group, part, rank);
    at += size;
  }
  return all;
}

void broadcast_bytes(const cluster::Group& group, std::span<std::byte> bytes, int root) {
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kPieceBytes);
    cluster::mpi_check(MPI_Bcast(bytes.data(), static_cast<int>(n), MPI_BYTE, root, group.raw()));
    bytes = bytes.subspan(n);
  }
}

void send_to_rank_0(const cluster::Group& group, std::span<const std::byte> bytes) {
  const std::uint64_t size = bytes.size();
  cluster::mpi_check(MPI_Send(&size, 1, MPI_UINT64_T, 0, kTag, group.raw()));
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kPieceBytes);
    cluster::mpi_check(MPI_Send(bytes.data(), static_cast<int>(n), MPI_BYTE, 0, kTag, group.raw()));
    bytes = bytes.subspan(n);
  }
}

std::vector<std::byte> receive_from(const cluster::Group& group, int rank) {
  std::uint64_t size = 0;
  cluster::mpi_check(MPI_Recv(&size, 1, MPI_UINT64_T, rank, kTag, group.raw(), MPI_STATUS_IGNORE));
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t n = std::min(bytes.size() - at, kPieceBytes);
    cluster::mpi_check(MPI_Recv(bytes.data() + at, static_cast<int>(n), MPI_BYTE, rank, kTag,
                                group.raw(), MPI_STATUS_IGNORE));
    at += n;
  }
  return bytes;
}

void barrier(const cluster::Group& group) {
  cluster::mpi_check(MPI_Barrier(group.raw()));
}

}  // namespace mgpu::store
