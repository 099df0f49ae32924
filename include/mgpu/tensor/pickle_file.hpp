#pragma once

#include <filesystem>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

namespace mgpu::tensor {

/// pickle_dict() returns an empty dict whose keys are strings, and pickle_list() returns an empty
/// list. Their values may have any types, so PyTorch needs no TorchScript types to read them.
c10::impl::GenericDict pickle_dict();
c10::impl::GenericList pickle_list();

/// Writes a value as a file that `torch.load(path, weights_only=True)` of PyTorch opens. The value
/// may consist of pickle_dict(), pickle_list(), tensors, strings, numbers, booleans and None.
/// Tensors that share a storage also share it in the file. Equal values give equal bytes.
///
/// Ranks:  local
/// Memory: all tensors have to be in host memory, and are not copied.
/// Errors: Failure E601 (cannot be created), E602 (I/O error or full disk).
/// Source: torch/csrc/jit/serialization/pickle.cpp of PyTorch 2.11, pickle_save(). Unlike
///         write_pickle(), pickle_save() marks dicts and lists with TorchScript types, which
///         weights_only refuses.
void write_pickle(const std::filesystem::path& path, const c10::IValue& value);

}  // namespace mgpu::tensor
