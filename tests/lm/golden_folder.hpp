#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <mgpu/formats/safetensors.hpp>

namespace mgpu::lm {

/// Expected values of one prompt, from tests/oracle/language_models.py.
struct Golden {
  std::string name;
  std::vector<std::int64_t> ids;     // [T]
  std::vector<double> logits;        // [T, V]
  std::vector<std::int64_t> greedy;  // continuation
};

template <class T>
std::vector<T> values_of(const formats::StoredTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

inline std::vector<Golden> read_goldens(const std::filesystem::path& folder) {
  const formats::SafetensorsFile file(folder / "golden.safetensors");
  std::vector<Golden> goldens;
  for (const char* name : {"one", "short", "long", "beyond"}) {
    const std::string prompt = name;
    const formats::StoredTensor* ids = file.find(prompt + ".ids");
    if (ids == nullptr) continue;
    goldens.push_back({prompt, values_of<std::int64_t>(*ids),
                       values_of<double>(*file.find(prompt + ".logits")),
                       values_of<std::int64_t>(*file.find(prompt + ".greedy"))});
  }
  return goldens;
}

}  // namespace mgpu::lm
