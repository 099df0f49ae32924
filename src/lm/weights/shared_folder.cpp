#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>
#include <mgpu/lm/weights/shared_folder.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "folder_source.hpp"
#include "stored_head.hpp"

namespace mgpu::lm {
namespace {

struct RequestedTensor {
  std::string name;
  at::Tensor whole;                // meta tensor; the base of `parts`
  std::vector<at::Tensor*> parts;  // views that this rank keeps
};

/// Provides meta tensors, and records each tensor that bind_weights() requests.
class Recorder : public WeightSource {
public:
  at::Tensor take(const std::string& name, const std::vector<std::int64_t>& shape) override {
    const at::Tensor whole = at::empty(shape, at::TensorOptions().device(at::kMeta));
    requested_.push_back({name, whole, {}});
    return whole;
  }
  std::vector<RequestedTensor> requested_;
};

/// Each tensor of `weights` has to be a view of one requested tensor. Adds a pointer to the view to
/// RequestedTensor::parts of this requested tensor.
///
/// Errors: Error when a tensor of `weights` is not such a view.
void assign(LmWeights& weights, std::vector<RequestedTensor>& requested,
            const std::string& family) {
  std::map<const void*, RequestedTensor*> by_storage;
  for (RequestedTensor& whole : requested)
    by_storage[whole.whole.storage().unsafeGetStorageImpl()] = &whole;
  for (at::Tensor* part : tensors_of(weights)) {
    const auto found = by_storage.find(part->storage().unsafeGetStorageImpl());
    if (found == by_storage.end())
      throw Error("a weight of family `" + family + "` is no part of one tensor");
    found->second->parts.push_back(part);
  }
}

bool is_same_view(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset();
}

/// Replaces each view in `requested.parts` with the same view of `whole`, on `device`. Tensors in
/// `rounded` become bfloat16, the others float32. A view of all elements of `whole` shares the
/// memory of `whole` if `whole` already has this device and type; other views are copied. Identical
/// views share one tensor. An example is the embedding and a head that is tied to it.
void keep_parts(const RequestedTensor& requested, const at::Tensor& whole, at::Device device,
                const std::set<at::Tensor*>& rounded) {
  std::vector<std::pair<at::Tensor, at::Tensor>> kept;  // pairs (meta view, real tensor)
  for (at::Tensor* part : requested.parts) {
    const auto known = std::find_if(kept.begin(), kept.end(), [&](const auto& pair) {
      return is_same_view(pair.first, *part);
    });
    if (known != kept.end()) {
      *part = known->second;
      continue;
    }
    const at::Tensor view =
        whole.as_strided(part->sizes(), part->strides(), part->storage_offset());
    const at::Tensor own = view.numel() == whole.numel() ? view : view.clone();
    kept.emplace_back(*part, own.to(device, rounded.contains(part) ? at::kBFloat16 : at::kFloat));
    *part = kept.back().second;
  }
}

/// Returns the tensors of `weights` to round to bfloat16: all matrices if `options` requests this
/// type, otherwise none.
std::set<at::Tensor*> rounded_of(LmWeights& weights, const LoadOptions& options) {
  if (options.matrices != MatrixType::bf16) return {};
  const std::vector<at::Tensor*> matrices = matrices_of(weights);
  return {matrices.begin(), matrices.end()};
}

std::span<std::uint8_t> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::uint8_t*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

}  // namespace

SharedFolder::SharedFolder(fs::path folder, const cluster::Group& all, const cluster::Group& node,
                           const LoadOptions& options, ResidentModels* resident)
    : folder_(std::move(folder)), all_(&all), node_(&node), options_(options), resident_(resident) {
  LmConfigTexts texts;
  cluster::run_together(all, [&] {
    if (!is_reader()) return;
    texts = read_config_texts(folder_);
    // config.json is parsed before the weights are opened, so that its errors are reported first.
    const LmConfig config = parse_lm_config(folder_, texts);
    if (resident_ == nullptr) files_ = std::make_unique<formats::WeightFiles>(folder_);
    texts.head = files_ ? find_stored_head(*files_, config) : find_stored_head(folder_, config);
  });
  texts = broadcast_texts(node, std::move(texts));
  cluster::run_together(all, [&] { config_ = parse_lm_config(folder_, texts); });
}

/// Determines which tensors of the folder this rank needs, and which parts of each tensor. The
/// constructor fills `weights` with meta tensors. Each call of keep() handles one tensor of the
/// folder, and replaces the views of this tensor in `weights` with real tensors.
class SharedFolder::Request {
public:
  Request(const LmConfig& config, const Shard& shard, const ModelHead* own,
          const LoadOptions& options)
      : config_(config) {
    if (own != nullptr) config_.tied_head = true;  // no lm_head is expected
    weights.decoder = shard_weights(config_, bind_weights(config_, recorder_), shard);
    assign(weights.decoder, recorder_.requested_, config_.family);
    rounded_ = rounded_of(weights.decoder, options);
    if (own != nullptr) add_head(*own);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  Request(Request&&) = delete;
  Request& operator=(Request&&) = delete;
  ~Request() = default;

  const LmConfig& config() const { return config_; }
  const std::vector<RequestedTensor>& tensors() const { return recorder_.requested_; }
  void keep(const RequestedTensor& requested, const at::Tensor& whole, Device device) const {
    keep_parts(requested, whole, tensor::torch_device(device), rounded_);
  }

  ClassifierWeights weights;

private:
  void add_head(const ModelHead& own) {
    const std::array parts{&weights.head.weight, &weights.head.bias};
    const auto specs = head_specs(own, config_.hidden_size);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      *parts.at(i) = recorder_.take(specs[i].name, specs[i].shape);
      recorder_.requested_.back().parts.push_back(parts.at(i));
    }
  }

  LmConfig config_;
  Recorder recorder_;
  std::set<at::Tensor*> rounded_;
};

void SharedFolder::load_resident(Request& request, Device device) const {
  cluster::run_together(*all_, [&] {
    std::vector<std::vector<std::int64_t>> shapes;
    for (const RequestedTensor& requested : request.tensors())
      shapes.push_back(requested.whole.sizes().vec());
    const auto read = [&](std::span<const at::Tensor> tensors) {
      const formats::WeightFiles files(folder_);
      const std::unique_ptr<CheckedSource> source = make_folder_source(files, request.config());
      for (std::size_t i = 0; i < tensors.size(); ++i)
        at::Tensor(tensors[i]).copy_(source->take(request.tensors()[i].name, shapes[i]));
      source->finish();
    };
    const std::vector<at::Tensor> tensors = resident_->open(folder_, shapes, read);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      request.keep(request.tensors()[i], tensors[i], device);
  });
}

LmWeights SharedFolder::load(const Shard& shard, Device device) const {
  std::optional<Request> request;
  cluster::run_together(*all_, [&] { request.emplace(config_, shard, nullptr, options_); });
  load(*request, device);
  return std::move(request->weights.decoder);
}

ClassifierWeights SharedFolder::load_classifier(const ModelHead& head, Device device) const {
  std::optional<Request> request;
  cluster::run_together(*all_,
                        [&] { request.emplace(config_, whole_model(config_), &head, options_); });
  load(*request, device);
  return std::move(request->weights);
}

void SharedFolder::load(Request& request, Device device) const {
  if (resident_ != nullptr) {
    load_resident(request, device);
    return;
  }
  std::unique_ptr<CheckedSource> source;
  if (is_reader()) source = make_folder_source(*files_, request.config());
  // The failure of this rank. Before each broadcast, an all-reduce tells all ranks of the node
  // whether one of them has failed.
  std::exception_ptr failure;
  const auto step = [&failure](const auto& work) {
    try {
      if (!failure) work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  bool is_whole = true;  // false after a rank of the node has failed
  for (const RequestedTensor& requested : request.tensors()) {
    at::Tensor whole;
    step([&] {
      const std::vector<std::int64_t> shape = requested.whole.sizes().vec();
      whole = source ? source->take(requested.name, shape) : at::empty(shape);
    });
    is_whole = node_->all_reduce(failure ? 1 : 0, cluster::ReduceOp::max) == 0;
    if (!is_whole) break;
    node_->broadcast(bytes_of(whole), 0);
    step([&] { request.keep(requested, whole, device); });
  }
  cluster::run_together(*all_, [&] {
    if (failure) std::rethrow_exception(failure);
    if (source && is_whole) source->finish();
  });
}

}  // namespace mgpu::lm
