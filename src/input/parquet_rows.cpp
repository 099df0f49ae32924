// Loads the Parquet library. Arrow's libraries export functions of OpenSSL and simdjson in versions
// that differ from the program's. So Arrow's libraries are loaded only for a Parquet file. Other
// libraries do not see the symbols of Arrow's libraries (RTLD_LOCAL), and Arrow's libraries prefer
// their own symbols (RTLD_DEEPBIND).
#include "parquet_rows.hpp"

#include <stdexcept>

#include <dlfcn.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>

#include "parquet_plugin.hpp"

namespace mgpu::input {
namespace {

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Failure({"E532",
                 ExitCode::data,
                 "a Parquet file cannot be read: " + printable(why),
                 {"  --> " + path.string()},
                 ""});
}

/// Returns the function mgpu_open_parquet of the Parquet library. The first call loads the library,
/// which is never unloaded.
OpenParquet open_parquet() {
  static const OpenParquet kOpen = [] {
    void* library = ::dlopen(MGPU_PARQUET_PLUGIN, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    void* found = library == nullptr ? nullptr : ::dlsym(library, "mgpu_open_parquet");
    if (found == nullptr) {
      throw Failure({"E535",
                     ExitCode::unavailable,
                     std::string("the library that reads Parquet cannot be loaded: ") + ::dlerror(),
                     {},
                     "launch/run.sh builds it again"});
    }
    return reinterpret_cast<OpenParquet>(found);
  }();
  return kOpen;
}

/// Returns the result of work(), which calls the Parquet library. Errors of the library become
/// Failure E532.
template <class Work>
auto ask(const fs::path& path, Work work) {
  try {
    return work();
  } catch (const std::runtime_error& error) {
    refuse(path, error.what());
  }
}

std::unique_ptr<ParquetPlugin> open_plugin(const DataFile& file) {
  const OpenParquet open = open_parquet();
  const int descriptor = file.descriptor_copy();
  return ask(file.path(), [&] { return open(descriptor); });
}

class ParquetRows : public RowSource {
public:
  explicit ParquetRows(const DataFile& file) : file_(file), plugin_(open_plugin(file)) {}

  std::vector<RawRow> read(std::int64_t first, std::int64_t count) override {
    file_.check_unchanged();
    return ask(file_.path(), [&] { return plugin_->read(first, count); });
  }

private:
  const DataFile& file_;
  std::unique_ptr<ParquetPlugin> plugin_;
};

}  // namespace

ParquetFacts read_parquet_facts(const DataFile& file) {
  const std::unique_ptr<ParquetPlugin> plugin = open_plugin(file);
  return ask(file.path(), [&] { return ParquetFacts{plugin->rows(), plugin->columns()}; });
}

std::unique_ptr<RowSource> open_parquet_rows(const DataFile& file) {
  return std::make_unique<ParquetRows>(file);
}

}  // namespace mgpu::input
