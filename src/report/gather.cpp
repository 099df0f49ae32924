#include <limits>
#include <span>

#include <mgpu/report/gather.hpp>

namespace mgpu::report {

using cluster::mpi_check;

std::vector<std::string> gather_texts(const cluster::Group& group, const std::string& mine) {
  auto total = static_cast<std::int64_t>(mine.size());
  group.all_reduce(std::span(&total, 1));
  if (total > std::numeric_limits<int>::max()) throw Error("gather_texts: more than 2 GiB");

  const auto ranks = static_cast<std::size_t>(group.size());
  const auto length = static_cast<int>(mine.size());
  std::vector<int> lengths(ranks);
  mpi_check(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, group.raw()));
  std::vector<int> starts(ranks, 0);
  for (std::size_t r = 1; r < ranks; ++r)
    starts[r] = starts[r - 1] + lengths[r - 1];
  std::string joined(group.rank() == 0 ? static_cast<std::size_t>(total) : 0, '\0');
  mpi_check(MPI_Gatherv(mine.data(), length, MPI_CHAR, joined.data(), lengths.data(), starts.data(),
                        MPI_CHAR, 0, group.raw()));

  std::vector<std::string> texts;
  for (std::size_t r = 0; group.rank() == 0 && r < ranks; ++r)
    texts.push_back(
        joined.substr(static_cast<std::size_t>(starts[r]), static_cast<std::size_t>(lengths[r])));
  return texts;
}

}  // namespace mgpu::report
