#include <cstddef>
#include <exception>
#include <span>
#include <string>

#include <torch/csrc/jit/serialization/pickle.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/tensor/pickle_file.hpp>

namespace mgpu::tensor {
namespace {

/// The file to which PyTorchStreamWriter writes an archive. That class aborts the program if a
/// write fails in its destructor. So write() never throws: it keeps the first failure and ignores
/// all later bytes. finish() throws this failure.
class ArchiveFile {
public:
  explicit ArchiveFile(const std::filesystem::path& path)
      : file_(path, "export", DurableFile::Mode::replace) {}

  std::size_t write(const void* bytes, std::size_t count) noexcept {
    if (failure_) return count;
    try {
      file_.write(std::span(static_cast<const std::byte*>(bytes), count));
    } catch (...) {
      failure_ = std::current_exception();
    }
    return count;
  }

  /// Makes the file durable and closes it.
  /// Errors: that of the first write that failed, and those of DurableFile.
  void finish() {
    if (failure_) std::rethrow_exception(failure_);
    file_.sync();
    file_.close();
  }

private:
  DurableFile file_;
  std::exception_ptr failure_;
};

}  // namespace

c10::impl::GenericDict pickle_dict() {
  return c10::impl::GenericDict(c10::StringType::get(), c10::AnyType::get());
}

c10::impl::GenericList pickle_list() {
  return c10::impl::GenericList(c10::AnyType::get());
}

void write_pickle(const std::filesystem::path& path, const c10::IValue& value) {
  std::string pickled;
  torch::jit::Pickler pickler(
      [&](const char* text, std::size_t size) { pickled.append(text, size); }, nullptr, nullptr,
      nullptr, nullptr, false);
  pickler.protocol();
  pickler.pushIValue(value);
  pickler.stop();

  ArchiveFile file(path);
  caffe2::serialize::PyTorchStreamWriter archive(
      [&](const void* bytes, std::size_t count) { return file.write(bytes, count); });
  archive.writeRecord("data.pkl", pickled.data(), pickled.size());
  std::size_t number = 0;
  for (const at::Tensor& tensor : pickler.tensorData()) {
    const c10::Storage& storage = tensor.storage();
    archive.writeRecord("data/" + std::to_string(number), storage.data(), storage.nbytes());
    ++number;
  }
  archive.writeEndOfFile();
  file.finish();
}

}  // namespace mgpu::tensor
