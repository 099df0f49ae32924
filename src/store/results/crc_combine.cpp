#include "crc_combine.hpp"

namespace mgpu::store {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // Castagnoli, bits reversed: bit 31 is x^0

/// Returns a * b modulo kPolynomial, over GF(2).
std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a & 0x80000000U) != 0) product ^= b;
    b = (b & 1U) != 0 ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return product;
}

}  // namespace

std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t bytes_b) {
  // Appending n zero bits to A multiplies its CRC by x^n. The pre- and post-conditioning of the
  // CRCs cancel out.
  std::uint32_t shift = 0x80000000U;   // the polynomial 1
  std::uint32_t square = 0x00800000U;  // the polynomial x^8, which stands for one byte
  for (; bytes_b != 0; bytes_b >>= 1) {
    if ((bytes_b & 1U) != 0) shift = multiply(square, shift);
    square = multiply(square, square);
  }
  return multiply(shift, crc_a) ^ crc_b;
}

}  // namespace mgpu::store
