// Replaces parquet_rows.cpp in builds without Arrow.
#include <mgpu/base/error.hpp>

#include "parquet_rows.hpp"

namespace mgpu::input {
namespace {

[[noreturn]] void refuse(const fs::path& path) {
  throw Failure({"E535",
                 ExitCode::unavailable,
                 "this build does not read Parquet",
                 {"  --> " + path.string()},
                 "start launch/run.sh where PyPI can be reached, or write the file as JSON Lines: "
                 "python3 -c \"import pandas as p; p.read_parquet('FILE.parquet')"
                 ".to_json('FILE.jsonl', orient='records', lines=True)\""});
}

}  // namespace

ParquetFacts read_parquet_facts(const DataFile& file) {
  refuse(file.path());
}

std::unique_ptr<RowSource> open_parquet_rows(const DataFile& file) {
  refuse(file.path());
}

}  // namespace mgpu::input
