#pragma once

#include <filesystem>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

namespace mgpu::tensor {

/// Make an empty dict with texts as keys, and an empty list. Their values may have any types, so a
/// reader needs no types of TorchScript to open them.
c10::impl::GenericDict pickle_dict();
c10::impl::GenericList pickle_list();

/// Writes a value as a file that `torch.load(path, weights_only=True)` of PyTorch opens. The value
/// is made of pickle_dict(), pickle_list(), tensors, texts, numbers, flags and None. Tensors that
/// share a storage share it in the file too. Equal values give equal bytes. Local.
///
/// Memory: tensors are in host memory, and are written from there.
/// Errors: Failure E601 (cannot be created), E602 (I/O error or full disk).
/// Source: torch/csrc/jit/serialization/pickle.cpp of PyTorch 2.11, pickle_save(). That function
///         marks dicts and lists with types of TorchScript, which weights_only refuses.
void write_pickle(const std::filesystem::path& path, const c10::IValue& value);

}  // namespace mgpu::tensor
