#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace mgpu {

/// Computes the SHA-256 of all bytes that are given to add().
/// Errors: Error if OpenSSL fails.
class Sha256 {
public:
  Sha256();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);

  /// Returns the SHA-256 of all added bytes in lower-case hexadecimal. Do not call add() or hex()
  /// afterwards.
  std::string hex();

private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace mgpu
