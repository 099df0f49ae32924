#include <cstring>
#include <set>

#include <ATen/ATen.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/tensor/read_back.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "folder_source.hpp"
#include "lm/config/family.hpp"
#include "mxfp4.hpp"
#include "stored_head.hpp"

namespace mgpu::lm {
namespace {

constexpr std::size_t kNamedProblems = 5;

/// Provides meta tensors, and records the name and shape of each tensor that bind_weights() takes.
class SpecRecorder : public WeightSource {
public:
  at::Tensor take(const std::string& name, const std::vector<std::int64_t>& shape) override {
    specs_.push_back({.name = name, .shape = shape, .decays = shape.size() > 1});
    return at::empty(shape, at::TensorOptions().device(at::kMeta));
  }
  std::vector<tensor::ParameterSpec> specs_;
};

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends)
    if (name.ends_with(end)) return true;
  return false;
}

/// Returns whether a stored tensor is a causal mask of GPT-2 or contains rotary frequencies of
/// Llama. This program does not read these tensors, because it does not need them.
bool is_stored_buffer(std::string_view name) {
  return ends_with_any(name, {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"});
}

class FolderSource : public CheckedSource {
public:
  FolderSource(const formats::WeightFiles& files, const LmConfig& config)
      : files_(files),
        tied_head_(config.tied_head),
        stored_as_head_(config.stored_head == StoredHead::is_embedding
                            ? find_family(config.family)->embedding
                            : "") {}

  at::Tensor take(const std::string& name, const std::vector<std::int64_t>& shape) override {
    mark_progress();
    const at::Tensor absent = at::zeros(shape);  // placeholder until finish() throws
    const formats::StoredTensor* stored = find(name);
    const formats::StoredTensor* blocks = find(name + "_blocks");
    const formats::StoredTensor* scales = find(name + "_scales");
    if (stored == nullptr && blocks != nullptr && scales != nullptr)
      return take_blocks(*blocks, *scales, shape);
    if (stored == nullptr) {
      problems_.push_back("missing: " + name + " " + formats::to_text(shape));
      return absent;
    }
    taken_.insert(stored->name);
    if (stored->shape != shape) {
      problems_.push_back("shape: " + name + " is " + formats::to_text(stored->shape) + ", not " +
                          formats::to_text(shape));
      return absent;
    }
    return read(*stored);
  }

  void finish() override {
    for (const auto& [name, tensor] : files_.tensors()) {
      const bool is_known =
          taken_.contains(name) || is_stored_buffer(name) || (tied_head_ && name == kHeadName);
      if (!is_known) problems_.push_back("left over: " + printable(name));
    }
    if (problems_.empty()) return;
    ErrorReport report{
        "E705",
        ExitCode::data,
        std::to_string(problems_.size()) + " tensors of the model do not fit config.json",
        {"  --> " + files_.folder().string()},
        ""};
    for (std::size_t i = 0; i < std::min(problems_.size(), kNamedProblems); ++i)
      report.lines.push_back("  " + problems_[i]);
    throw Failure(std::move(report));
  }

private:
  const formats::StoredTensor* find(const std::string& name) const {
    return find_tensor(files_, name == stored_as_head_ ? kHeadName : name);
  }

  /// Returns the matrices of E experts, [E, in, out], which are stored as MXFP4 blocks
  /// [E, out, in / 32, 16] and scales [E, out, in / 32].
  at::Tensor take_blocks(const formats::StoredTensor& blocks, const formats::StoredTensor& scales,
                         const std::vector<std::int64_t>& shape) {
    taken_.insert(blocks.name);
    taken_.insert(scales.name);
    if (shape.size() != 3) {
      problems_.push_back("blocks: " + blocks.name + " stand for a matrix that is no expert's");
      return at::zeros(shape);
    }
    const std::vector<std::int64_t> expected = {shape[0], shape[2], shape[1] / kMxfp4Block};
    std::vector<std::int64_t> expected_blocks = expected;
    expected_blocks.push_back(kMxfp4Block / 2);
    const bool is_bytes = blocks.dtype_name == "U8" && scales.dtype_name == "U8";
    if (!is_bytes || shape[1] % kMxfp4Block != 0 || scales.shape != expected ||
        blocks.shape != expected_blocks) {
      problems_.push_back("blocks: " + blocks.name + " are " + blocks.dtype_name + " " +
                          formats::to_text(blocks.shape) + " with scales " +
                          formats::to_text(scales.shape) + ", not U8 " +
                          formats::to_text(expected_blocks) + " and " + formats::to_text(expected));
      return at::zeros(shape);
    }
    files_.check(blocks);
    files_.check(scales);
    const std::vector<float> values = decode_mxfp4(blocks.bytes, scales.bytes);
    const at::Tensor weight = at::empty({shape[0], shape[2], shape[1]});
    std::copy(values.begin(), values.end(), weight.mutable_data_ptr<float>());
    return checked(weight, blocks).transpose(1, 2).contiguous();
  }

  at::Tensor read(const formats::StoredTensor& stored) {
    const bool is_float =
        stored.dtype == DType::f32 || stored.dtype == DType::f16 || stored.dtype == DType::bf16;
    if (!is_float) {
      problems_.push_back("type: " + stored.name + " is " + stored.dtype_name +
                          ", not F32, F16 or BF16");
      return at::zeros(stored.shape);
    }
    files_.check(stored);
    // Copies the bytes first, because a tensor in the file may not be aligned for its type.
    const auto options = at::TensorOptions().dtype(tensor::scalar_type(*stored.dtype));
    const at::Tensor raw = at::empty(stored.shape, options);
    std::memcpy(raw.mutable_data_ptr(), stored.bytes.data(), stored.bytes.size());
    return checked(raw.to(at::kFloat), stored);
  }

  /// Checks `weight`, and returns it. Errors: Failure E706 if a value is not finite.
  at::Tensor checked(const at::Tensor& weight, const formats::StoredTensor& stored) const {
    if (!tensor::read_value<bool>(at::isfinite(weight).all())) {
      throw Failure({"E706",
                     ExitCode::data,
                     "a weight of the model is infinite or not a number",
                     {"  --> " + files_.folder().string(), "  tensor " + printable(stored.name)},
                     ""});
    }
    return weight;
  }

  const formats::WeightFiles& files_;
  bool tied_head_;
  std::string stored_as_head_;  // StoredHead::is_embedding: name of the embedding; otherwise ""
  std::set<std::string_view> taken_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<Linear*> linears_of(LayerWeights& layer) {
  std::vector<Linear*> linears = {&layer.q,    &layer.k,  &layer.v,    &layer.out,
                                  &layer.gate, &layer.up, &layer.down, &layer.router};
  for (Expert& expert : layer.experts)
    linears.insert(linears.end(), {&expert.gate, &expert.up, &expert.down});
  return linears;
}

std::vector<at::Tensor*> matrices_of(LmWeights& weights) {
  std::vector<at::Tensor*> matrices = {&weights.embedding, &weights.head.weight};
  for (LayerWeights& layer : weights.layers)
    for (Linear* linear : linears_of(layer))
      matrices.push_back(&linear->weight);
  std::erase_if(matrices, [](const at::Tensor* matrix) { return !matrix->defined(); });
  return matrices;
}

LmWeights bind_weights(const LmConfig& config, WeightSource& source) {
  const Family* family = find_family(config.family);
  if (family == nullptr) throw Error("no family `" + config.family + "`");
  return family->bind(config, source);
}

std::vector<tensor::ParameterSpec> weight_specs(const LmConfig& config) {
  SpecRecorder recorder;
  bind_weights(config, recorder);
  return std::move(recorder.specs_);
}

std::unique_ptr<CheckedSource> make_folder_source(const formats::WeightFiles& files,
                                                  const LmConfig& config) {
  return std::make_unique<FolderSource>(files, config);
}

LmWeights load_weights(const LmConfig& config, const formats::WeightFiles& files,
                       const LoadOptions& options) {
  FolderSource source(files, config);
  LmWeights weights = bind_weights(config, source);
  source.finish();
  if (options.matrices == MatrixType::f32) return weights;
  const bool is_tied = weights.head.weight.is_same(weights.embedding);
  for (at::Tensor* matrix : matrices_of(weights))
    *matrix = matrix->to(at::kBFloat16);
  if (is_tied) weights.head.weight = weights.embedding;
  return weights;
}

}  // namespace mgpu::lm
