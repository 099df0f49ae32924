// Reads rows of Parquet files through Arrow. This file is built as a separate library, because some
// symbols that Arrow exports conflict with the program's (see parquet_rows.cpp).
#include "parquet_plugin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <mgpu/base/half_float.hpp>
#include <mgpu/base/utf8.hpp>

namespace mgpu::input {
namespace {

using formats::JsonValue;

constexpr std::int64_t kBatchRows = 1024;
constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20;
constexpr int kMaxDepth = 32;

/// Thrown for an unusable row. `why` is a clause for messages, such as "it is deeper than 32
/// levels".
struct BadValue {
  std::string why;
};

/// Returns the result of work(), which calls Arrow or Parquet. Errors of these libraries become
/// std::runtime_error.
template <class Work>
auto ask(Work work) {
  try {
    auto result = work();
    if (!result.ok()) throw std::runtime_error(result.status().ToString());
    return std::move(result).ValueUnsafe();
  } catch (const ::parquet::ParquetException& error) {
    throw std::runtime_error(error.what());
  }
}

using Reader = std::unique_ptr<::parquet::arrow::FileReader>;

arrow::Result<Reader> make_reader(int descriptor) {
  ARROW_ASSIGN_OR_RAISE(const auto input, arrow::io::ReadableFile::Open(descriptor));
  ::parquet::ReaderProperties bytes;
  bytes.enable_buffered_stream();  // otherwise whole columns of a row group are loaded at once
  bytes.set_buffer_size(kBufferBytes);
  ::parquet::ArrowReaderProperties rows;
  rows.set_batch_size(kBatchRows);
  rows.set_pre_buffer(false);
  ::parquet::arrow::FileReaderBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Open(input, bytes));
  return builder.properties(rows)->Build();
}

JsonValue value_at(const arrow::Array& array, std::int64_t i, int depth);

JsonValue text_value(std::string_view text) {
  if (find_bad_utf8(text) != std::string::npos) throw BadValue{"a text of it is not UTF-8"};
  return JsonValue(std::string(text));
}

/// Converts a number. NaN becomes null, because pandas writes NaN for a missing number.
JsonValue real_value(double value) {
  return std::isnan(value) ? JsonValue() : JsonValue(value);
}

JsonValue large_value(std::uint64_t value) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value > kMost) return JsonValue(std::to_string(value));
  return JsonValue(static_cast<std::int64_t>(value));
}

template <class Array>
JsonValue integer_at(const arrow::Array& array, std::int64_t i) {
  return JsonValue(std::int64_t{static_cast<const Array&>(array).Value(i)});
}

template <class Array>
JsonValue text_at(const arrow::Array& array, std::int64_t i) {
  return text_value(static_cast<const Array&>(array).GetView(i));
}

template <class Array>
JsonValue list_at(const arrow::Array& array, std::int64_t i, int depth) {
  const auto& lists = static_cast<const Array&>(array);
  JsonValue::List items;
  const auto end = std::int64_t{lists.value_offset(i)} + lists.value_length(i);
  for (std::int64_t j = lists.value_offset(i); j < end; ++j)
    items.push_back(value_at(*lists.values(), j, depth));
  return JsonValue(std::move(items));
}

JsonValue struct_at(const arrow::Array& array, std::int64_t i, int depth) {
  const auto& structs = static_cast<const arrow::StructArray&>(array);
  JsonValue::Members members;
  for (int f = 0; f < structs.num_fields(); ++f)
    members.emplace_back(structs.type()->field(f)->name(), value_at(*structs.field(f), i, depth));
  return JsonValue(std::move(members));
}

/// Returns item `i` as the text that Arrow prints for it. The function value_at() calls this
/// function for dates, times and all other types that it does not convert itself.
JsonValue written_at(const arrow::Array& array, std::int64_t i) {
  const auto scalar = array.GetScalar(i);
  if (!scalar.ok()) throw BadValue{"a value of it cannot be read: " + scalar.status().ToString()};
  return text_value((*scalar)->ToString());
}

// Returns item `i` of the array as JSON. Calls itself for nested values, and throws BadValue if
// `depth` exceeds kMaxDepth.
JsonValue value_at(const arrow::Array& array, std::int64_t i, int depth) {
  using Type = arrow::Type;
  if (depth > kMaxDepth) throw BadValue{"it is deeper than 32 levels"};
  if (array.IsNull(i)) return JsonValue();
  switch (array.type_id()) {
    case Type::BOOL:
      return JsonValue(static_cast<const arrow::BooleanArray&>(array).Value(i));
    case Type::INT8:
      return integer_at<arrow::Int8Array>(array, i);
    case Type::INT16:
      return integer_at<arrow::Int16Array>(array, i);
    case Type::INT32:
      return integer_at<arrow::Int32Array>(array, i);
    case Type::INT64:
      return integer_at<arrow::Int64Array>(array, i);
    case Type::UINT8:
      return integer_at<arrow::UInt8Array>(array, i);
    case Type::UINT16:
      return integer_at<arrow::UInt16Array>(array, i);
    case Type::UINT32:
      return integer_at<arrow::UInt32Array>(array, i);
    case Type::UINT64:
      return large_value(static_cast<const arrow::UInt64Array&>(array).Value(i));
    case Type::HALF_FLOAT:
      return real_value(
          double{from_f16(static_cast<const arrow::HalfFloatArray&>(array).Value(i))});
    case Type::FLOAT:
      return real_value(double{static_cast<const arrow::FloatArray&>(array).Value(i)});
    case Type::DOUBLE:
      return real_value(static_cast<const arrow::DoubleArray&>(array).Value(i));
    case Type::STRING:
    case Type::BINARY:
      return text_at<arrow::BinaryArray>(array, i);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return text_at<arrow::LargeBinaryArray>(array, i);
    case Type::LIST:
      return list_at<arrow::ListArray>(array, i, depth + 1);
    case Type::LARGE_LIST:
      return list_at<arrow::LargeListArray>(array, i, depth + 1);
    case Type::FIXED_SIZE_LIST:
      return list_at<arrow::FixedSizeListArray>(array, i, depth + 1);
    case Type::STRUCT:
      return struct_at(array, i, depth + 1);
    case Type::DICTIONARY: {
      const auto& words = static_cast<const arrow::DictionaryArray&>(array);
      return value_at(*words.dictionary(), words.GetValueIndex(i), depth + 1);
    }
    case Type::EXTENSION:
      return value_at(*static_cast<const arrow::ExtensionArray&>(array).storage(), i, depth + 1);
    default:
      return written_at(array, i);
  }
}

class ParquetFile : public ParquetPlugin {
public:
  explicit ParquetFile(int descriptor) : reader_(ask([&] { return make_reader(descriptor); })) {
    const auto metadata = reader_->parquet_reader()->metadata();
    for (int group = 0; group < metadata->num_row_groups(); ++group)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + metadata->RowGroup(group)->num_rows());
  }

  std::int64_t rows() const override { return ends_.empty() ? 0 : ends_.back(); }

  std::vector<std::string> columns() const override {
    const auto schema = ask([&]() -> arrow::Result<std::shared_ptr<arrow::Schema>> {
      std::shared_ptr<arrow::Schema> found;
      ARROW_RETURN_NOT_OK(reader_->GetSchema(&found));
      return found;
    });
    return schema->field_names();
  }

  std::vector<RawRow> read(std::int64_t first, std::int64_t count) override {
    std::vector<RawRow> rows;
    for (std::int64_t row = first; row < first + count; ++row)
      rows.push_back(read_row(row));
    return rows;
  }

private:
  RawRow read_row(std::int64_t row) {
    go_to(row);
    RawRow raw{row + 1, {}, ""};
    try {
      JsonValue::Members members;
      for (int c = 0; c < batch_->num_columns(); ++c)
        members.emplace_back(batch_->column_name(c),
                             value_at(*batch_->column(c), row - batch_begin_, 1));
      raw.object = JsonValue(std::move(members));
    } catch (const BadValue& bad) {
      raw.problem = bad.why;
    }
    return raw;
  }

  /// Loads the batch that contains the row. If the row is before the current batch or in another
  /// row group, reads from the beginning of the row group that contains the row. Otherwise
  /// continues from the current batch.
  void go_to(std::int64_t row) {
    const auto group = std::upper_bound(ends_.begin(), ends_.end(), row) - ends_.begin();
    if (group != group_ || row < batch_begin_) open_group(group);
    while (row >= batch_end_) {
      auto batch = ask([&] { return batches_->Next(); });
      if (!batch) throw std::runtime_error("it has fewer rows than it says");
      batch_begin_ = batch_end_;
      batch_end_ += batch->num_rows();
      batch_ = std::move(batch);
    }
  }

  void open_group(std::ptrdiff_t group) {
    batch_.reset();
    batches_ = ask([&] { return reader_->GetRecordBatchReader({static_cast<int>(group)}); });
    group_ = group;
    batch_end_ = group == 0 ? 0 : ends_[static_cast<std::size_t>(group - 1)];
    batch_begin_ = batch_end_;
  }

  Reader reader_;
  std::vector<std::int64_t> ends_;  // for each row group, the index of the row after its last row
  std::ptrdiff_t group_ = -1;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t batch_begin_ = 0;
  std::int64_t batch_end_ = 0;
};

}  // namespace
}  // namespace mgpu::input

extern "C" __attribute__((visibility("default"))) std::unique_ptr<mgpu::input::ParquetPlugin>
mgpu_open_parquet(int descriptor) {
  return std::make_unique<mgpu::input::ParquetFile>(descriptor);
}
