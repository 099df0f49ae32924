#include <array>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/store/results/padded_lists.hpp>

#include "hdf5.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;
using Sizes3 = std::array<hsize_t, 3>;

constexpr unsigned kGzip = 4;

std::size_t bytes_of(ColumnType type) {
  return H5Tget_size(hdf5::number_type(type));
}

/// An HDF5 data set [rows, longest, width], in which unwritten values read as 0.
class PaddedDataset {
public:
  PaddedDataset(hid_t file, const PaddedLists::Dataset& dataset, const Sizes3& sizes)
      : type_(hdf5::number_type(dataset.type)), width_(sizes[2]) {
    const Hid space = hdf5::own(H5Screate_simple(3, sizes.data(), nullptr));
    const Hid creation = hdf5::own(H5Pcreate(H5P_DATASET_CREATE));
    const Sizes3 chunk{1, sizes[1], sizes[2]};
    hdf5::check(H5Pset_chunk(creation.get(), 3, chunk.data()));
    hdf5::check(H5Pset_deflate(creation.get(), kGzip));
    hdf5::check(H5Pset_obj_track_times(creation.get(), false));
    dataset_ = hdf5::own(H5Dcreate2(file, dataset.name.c_str(), type_, space.get(), H5P_DEFAULT,
                                    creation.get(), H5P_DEFAULT));
  }

  void write(std::int64_t row, std::int64_t items, const void* values) const {
    if (items == 0) return;
    const Sizes3 first{static_cast<hsize_t>(row), 0, 0};
    const Sizes3 count{1, static_cast<hsize_t>(items), width_};
    const Hid space = hdf5::own(H5Dget_space(dataset_.get()));
    hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, first.data(), nullptr,
                                    count.data(), nullptr));
    const Hid memory = hdf5::own(H5Screate_simple(3, count.data(), nullptr));
    hdf5::check(H5Dwrite(dataset_.get(), type_, memory.get(), space.get(), H5P_DEFAULT, values));
  }

private:
  hid_t type_;
  hsize_t width_;
  Hid dataset_;
};

void write_lengths(hid_t file, const std::string& name, std::span<const std::int32_t> lengths) {
  const hid_t type = hdf5::number_type(ColumnType::i32);
  const Hid space = hdf5::make_space(std::ssize(lengths), 1);
  const Hid creation = hdf5::own(H5Pcreate(H5P_DATASET_CREATE));
  hdf5::check(H5Pset_obj_track_times(creation.get(), false));
  const Hid dataset = hdf5::own(
      H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  if (lengths.empty()) return;
  hdf5::check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, lengths.data()));
}

}  // namespace

struct PaddedLists::File {
  std::filesystem::path path;
  Shape shape;
  hdf5::Quiet quiet;
  hdf5::SerialWriter writer;
  std::vector<PaddedDataset> datasets;
  std::size_t bytes_per_item = 0;

  explicit File(std::filesystem::path where, const Shape& sizes)
      : path(std::move(where)), shape(sizes), writer(hdf5::SerialWriter::create(path)) {}
};

namespace {

/// Returns the result of `step`. An HDF5 error becomes Failure E602 with the path.
template <class Step>
auto writing(const std::filesystem::path& path, const Step& step) {
  try {
    return step();
  } catch (const hdf5::Hdf5Error& error) {
    throw Failure({"E602",
                   ExitCode::io,
                   "cannot write the lists: " + error.detail(),
                   {"  --> " + path.string()},
                   ""});
  }
}

}  // namespace

PaddedLists::PaddedLists(std::filesystem::path path, const Shape& shape,
                         const std::vector<Dataset>& datasets) {
  writing(path, [&] {
    const hdf5::Quiet quiet;
    file_ = std::make_unique<File>(path, shape);
    const Sizes3 sizes{static_cast<hsize_t>(shape.rows), static_cast<hsize_t>(shape.longest),
                       static_cast<hsize_t>(shape.width)};
    for (const Dataset& dataset : datasets) {
      file_->datasets.emplace_back(file_->writer.id(), dataset, sizes);
      file_->bytes_per_item += bytes_of(dataset.type) * static_cast<std::size_t>(shape.width);
    }
  });
}

PaddedLists::~PaddedLists() = default;

void PaddedLists::write(std::int64_t row, std::int64_t items,
                        const std::vector<const void*>& values) {
  if (values.size() != file_->datasets.size())
    throw ShapeError("PaddedLists::write wants a pointer for each data set");
  writing(file_->path, [&] {
    // Reserves a third more than the size of the data, because gzip makes incompressible data a
    // little longer.
    file_->writer.reserve(static_cast<std::uint64_t>(items) * file_->bytes_per_item * 4 / 3);
    for (std::size_t i = 0; i < values.size(); ++i)
      file_->datasets[i].write(row, items, values[i]);
  });
}

void PaddedLists::finish(const std::string& lengths_name, std::span<const std::int32_t> lengths) {
  writing(file_->path, [&] {
    file_->datasets.clear();
    write_lengths(file_->writer.id(), lengths_name, lengths);
    file_->writer.close();
  });
}

}  // namespace mgpu::store
