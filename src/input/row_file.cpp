#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/input/row_file.hpp>

#include "double_ids.hpp"
#include "parquet_rows.hpp"
#include "readers.hpp"
#include "row_error.hpp"
#include "row_fields.hpp"
#include "row_index.hpp"
#include "row_source.hpp"

namespace mgpu::input {
namespace {

constexpr std::int64_t kRowsAtOnce = 64;

std::string why_double(const DoubleId& twice) {
  return "its `id` is that of line " + std::to_string(twice.first_line);
}

}  // namespace

/// An open file with its options and index.
struct RowFile::Opened {
  Opened(const RowOptions& given, RowIndex known)
      : options(given), path(options.source()), fields(options), index(std::move(known)) {
    source = options.generated ? open_generated_rows(*options.generated) : open_file();
    rows = index.rows - options.start;
    if (rows <= 0) refuse_start();
    if (options.max_samples) rows = std::min(rows, *options.max_samples);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::unique_ptr<RowSource> open_file() {
    file.emplace(options.path);
    file->check_same(index.stamp);
    if (!index.columns.empty()) fields.check_columns(path, index.columns);
    return index.format == RowFormat::parquet ? open_parquet_rows(*file)
                                              : open_text_rows(*file, index, options);
  }

  [[noreturn]] void refuse_start() const {
    throw Failure({"E532",
                   ExitCode::data,
                   "data.start is " + std::to_string(options.start) + ", but a data file has " +
                       std::to_string(index.rows) + " rows",
                   {"  --> " + path.string()},
                   "rows are counted from 0"});
  }

  Row row_of(std::int64_t id, const RawRow& raw) const {
    Row row{id, raw.line, {}, raw.problem};
    if (!row.problem.empty()) return row;
    try {
      const bool has_cells = index.format == RowFormat::csv || index.format == RowFormat::tsv;
      row.object = fields.apply(raw.object, has_cells);
    } catch (const RowError& error) {
      row.problem = error.why();
    }
    if (row.problem.empty()) row.problem = why_double(id);
    return row;
  }

  /// Returns the problem of a row that has the same value in column `id` as an earlier row; "" for
  /// any other row. The argument `id` is not that value, but Row::id of the row.
  std::string why_double(std::int64_t id) const {
    const auto found =
        std::lower_bound(doubles.begin(), doubles.end(), id,
                         [](const DoubleId& a, std::int64_t b) { return a.row < b; });
    return found == doubles.end() || found->row != id ? "" : input::why_double(*found);
  }

  RowOptions options;
  fs::path path;
  std::optional<DataFile> file;  // empty if the rows are generated
  RowFields fields;
  RowIndex index;
  std::unique_ptr<RowSource> source;
  std::int64_t rows = 0;
  std::vector<DoubleId> doubles;  // ascending by row
};

namespace {

constexpr const char* kOtherRows = "another data set, or data.path=FILE, with rows that fit";

/// The problems and ids that one rank finds in the rows that it checks.
struct Findings {
  explicit Findings(const fs::path& path) : problems(path) {}

  formats::LineProblems problems;
  std::vector<IdDigest> ids;
};

Findings look_at_share(const RowFile& file, const Readers& readers, bool has_ids) {
  Findings found(file.path());
  const std::int64_t begin = file.rows() * readers.rank() / readers.size();
  const std::int64_t end = file.rows() * (readers.rank() + 1) / readers.size();
  if (has_ids) found.ids.reserve(static_cast<std::size_t>(end - begin));
  for (std::int64_t first = begin; first < end; first += kRowsAtOnce) {
    for (const Row& row : file.read(first, std::min(kRowsAtOnce, end - first))) {
      if (!row.problem.empty()) {
        found.problems.add(row.line, row.problem);
      } else if (has_ids) {
        found.ids.push_back(digest_id(id_of(row.object), row.id, row.line));
      }
    }
  }
  return found;
}

formats::LineProblems problems_of_all(const Readers& readers, const fs::path& path,
                                      const formats::LineProblems& mine,
                                      const std::vector<DoubleId>& doubles) {
  formats::LineProblems all(path);
  for (const std::string& packed : readers.all_gather(mine.packed()))
    all.unpack(packed);
  for (const DoubleId& twice : doubles)
    all.add(twice.line, why_double(twice));
  return all;
}

RowIndex index_of(const RowOptions& options) {
  return options.generated ? index_generated_rows(*options.generated)
                           : make_row_index(DataFile(options.path), options);
}

/// Opens the file on every reader with the index that rank 0 makes.
/// Ranks:  collective over the readers.
std::unique_ptr<RowFile::Opened> open_by_index(const Readers& readers, const RowOptions& options) {
  std::string index;
  readers.together([&] {
    if (readers.rank() == 0) index = index_of(options).to_bytes();
  });
  index = readers.broadcast(std::move(index));
  std::unique_ptr<RowFile::Opened> opened;
  readers.together(
      [&] { opened = std::make_unique<RowFile::Opened>(options, RowIndex::from_bytes(index)); });
  return opened;
}

RowFile open(const Readers& readers, const RowOptions& options) {
  std::unique_ptr<RowFile::Opened> opened = open_by_index(readers, options);
  RowFile::Opened& inside = *opened;
  RowFile file(std::move(opened));
  const bool has_ids = inside.fields.has_ids();
  if (options.on_bad_row == BadRow::mark && !has_ids) return file;

  Findings found(file.path());
  readers.together([&] { found = look_at_share(file, readers, has_ids); });
  std::vector<DoubleId> doubles =
      has_ids ? find_double_ids(readers, found.ids, file.rows()) : std::vector<DoubleId>();
  if (options.on_bad_row == BadRow::stop) {
    const formats::LineProblems all =
        problems_of_all(readers, file.path(), found.problems, doubles);
    readers.together([&] { all.throw_if_any(options.generated ? kOtherRows : kBadRowHelp); });
  }
  inside.doubles = std::move(doubles);
  return file;
}

}  // namespace

RowFile::RowFile(std::unique_ptr<Opened> opened) : opened_(std::move(opened)) {}
RowFile::RowFile(RowFile&&) noexcept = default;
RowFile& RowFile::operator=(RowFile&&) noexcept = default;
RowFile::~RowFile() = default;

std::int64_t RowFile::rows() const {
  return opened_->rows;
}

std::uint32_t RowFile::crc() const {
  return opened_->index.crc;
}

std::uint64_t RowFile::bytes() const {
  return opened_->index.stamp.size;
}

const fs::path& RowFile::path() const {
  return opened_->path;
}

const std::vector<std::string>& RowFile::columns() const {
  return opened_->index.columns;
}

std::vector<Row> RowFile::read(std::int64_t first, std::int64_t count) const {
  if (first < 0 || count < 0 || first + count > rows())
    throw Error("rows are asked for that the file does not have");
  std::vector<Row> rows;
  if (count == 0) return rows;
  std::int64_t id = first;
  for (const RawRow& raw : opened_->source->read(opened_->options.start + first, count))
    rows.push_back(opened_->row_of(id++, raw));
  return rows;
}

RowFile open_rows(const cluster::Group& world, const RowOptions& options) {
  return open(Readers(world), options);
}

RowFile open_rows(const RowOptions& options) {
  return open(Readers(), options);
}

std::int64_t count_rows(const RowOptions& options, std::int64_t most) {
  if (options.max_samples) most = std::min(most, *options.max_samples);
  const std::int64_t all =
      options.generated ? options.generated->rows()
                        : count_records(DataFile(options.path), options, options.start + most);
  return std::clamp<std::int64_t>(all - options.start, 0, most);
}

std::uint64_t bytes_of(const RowOptions& options) {
  if (options.generated) return index_generated_rows(*options.generated).stamp.size;
  std::error_code missing;
  const std::uintmax_t bytes = fs::file_size(options.path, missing);
  return missing ? 0 : bytes;
}

}  // namespace mgpu::input
