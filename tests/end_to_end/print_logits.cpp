// Usage: print_logits MODEL.safetensors HEADS. Runs our model with these weights on tokens that a
// formula gives. Prints JSON: tokens [6][B][T], logits [B][T][A].
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/formats/safetensors.hpp>

namespace {

using namespace mgpu;  // NOLINT(google-build-using-namespace): a program of its own

constexpr std::int64_t kRows = 3;

std::int64_t dimension(const formats::SafetensorsFile& file, const char* name, std::size_t axis) {
  return file.find(name)->shape.at(axis);
}

std::int64_t count_blocks(const formats::SafetensorsFile& file) {
  std::int64_t blocks = 0;
  while (file.find("blocks." + std::to_string(blocks) + ".norm1.weight") != nullptr)
    ++blocks;
  return blocks;
}

ad::AdTransformerConfig config_of(const formats::SafetensorsFile& file, std::int64_t heads) {
  ad::AdTransformerConfig config;
  config.n_embd = dimension(file, "norm.weight", 0);
  config.n_inner = dimension(file, "blocks.0.mlp.up.weight", 0);
  config.n_transit = dimension(file, "position.weight", 0);
  config.n_layer = count_blocks(file);
  config.n_head = heads;
  return config;
}

void copy_weights(const formats::SafetensorsFile& file, tensor::ParameterArena& arena) {
  if (file.tensors().size() != arena.size()) throw Error("another number of tensors");
  for (std::size_t i = 0; i < arena.size(); ++i) {
    const formats::StoredTensor* stored = file.find(arena.spec(i).name);
    if (stored == nullptr || stored->shape != arena.spec(i).shape) {
      throw Error("the tensor " + arena.spec(i).name + " is not as expected");
    }
    std::memcpy(arena.parameter(i).mutable_data_ptr(), stored->bytes.data(), stored->bytes.size());
  }
}

/// Returns tokens, [6, B, T], in which each field takes all of its values.
at::Tensor make_tokens(std::int64_t length) {
  const at::Tensor i = at::arange(kRows * length, at::kLong).view({kRows, length});
  std::vector<at::Tensor> fields;
  for (const std::int64_t size : {9, 9, 6, 3, 10, 10})
    fields.push_back((i * 31 + i.floor_divide(7) + size).remainder(size));
  return at::stack(fields);
}

/// Returns the values as nested JSON arrays, one level for each dimension.
template <class T>
nlohmann::json nested(const at::Tensor& values) {
  if (values.dim() == 0) return values.item<T>();
  nlohmann::json list = nlohmann::json::array();
  for (std::int64_t i = 0; i < values.size(0); ++i)
    list.push_back(nested<T>(values[i]));
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const at::NoGradGuard no_grad;
  const formats::SafetensorsFile file(argv[1]);
  ad::AdTransformer model(config_of(file, std::atoll(argv[2])), Device{}, /*seed=*/1);
  copy_weights(file, model.parameters());
  const at::Tensor tokens = make_tokens(model.config().n_transit);
  const ad::StepTokens steps{tokens[0], tokens[1], tokens[2], tokens[3], tokens[4], tokens[5]};
  const at::Tensor logits = model.forward(steps);
  std::cout << nlohmann::json{{"tokens", nested<std::int64_t>(tokens)},
                              {"logits", nested<float>(logits)}};
}
