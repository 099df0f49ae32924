#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <mgpu/lm/decode/value_guide.hpp>

namespace mgpu::lm {

/// A language of 4^6 strings. The reference is a fixed random bigram model. The return of a string
/// is 1 if the sum of its tokens is a multiple of 3, else 0. Expectations are exact sums over all
/// strings.
class ToyLanguage {
public:
  static constexpr std::size_t kTokens = 4;
  static constexpr std::size_t kLength = 6;
  using Policy = std::array<double, kTokens>;

  ToyLanguage() {
    for (std::size_t last = 0; last <= kTokens; ++last) {
      double mass = 0.0;
      for (std::size_t token = 0; token < kTokens; ++token) {
        reference_[last][token] = std::exp(std::sin(2.3 * static_cast<double>(5 * last + token)));
        mass += reference_[last][token];
      }
      for (double& probability : reference_[last])
        probability /= mass;
    }
  }

  struct Prefix {
    std::size_t length = 0;
    std::size_t last = kTokens;  // kTokens: no token
    std::size_t sum = 0;         // of the tokens, modulo 3
  };

  static Prefix with(const Prefix& prefix, std::size_t token) {
    return {prefix.length + 1, token, (prefix.sum + token) % 3};
  }
  const Policy& reference(const Prefix& prefix) const { return reference_[prefix.last]; }

  /// Returns the probability that the reference ends a prefix with a return of 1.
  double success(const Prefix& prefix) const {
    if (prefix.length == kLength) return prefix.sum == 0 ? 1.0 : 0.0;
    double all = 0.0;
    for (std::size_t token = 0; token < kTokens; ++token)
      all += reference(prefix)[token] * success(with(prefix, token));
    return all;
  }

  /// Returns the offset that a guide with exact values gives to a token.
  double offset(const Prefix& prefix, std::size_t token, const GuideSettings& settings) const {
    const double p = success(with(prefix, token));
    const std::array<double, 1> logit{p == 0.0   ? -1e4
                                      : p == 1.0 ? 1e4
                                                 : std::log(p) - std::log1p(-p)};
    return guide_offset(settings, ValueHead{}, logit);
  }

  /// Returns the policy that a guide with exact values makes of the reference.
  Policy guided(const Prefix& prefix, const GuideSettings& settings) const {
    Policy policy{};
    for (std::size_t token = 0; token < kTokens; ++token) {
      policy[token] = std::log(reference(prefix)[token]) + offset(prefix, token, settings);
    }
    const double most = *std::ranges::max_element(policy);
    double mass = 0.0;
    for (double& probability : policy) {
      probability = std::exp(probability - most);
      mass += probability;
    }
    for (double& probability : policy)
      probability /= mass;
    return policy;
  }

  /// Returns E[R] - eta KL(policy || reference) of the strings that continue a prefix.
  template <class PolicyOf>
  double objective(const Prefix& prefix, double eta, const PolicyOf& policy_of) const {
    if (prefix.length == kLength) return prefix.sum == 0 ? 1.0 : 0.0;
    const Policy policy = policy_of(prefix);
    double all = 0.0;
    for (std::size_t token = 0; token < kTokens; ++token)
      if (policy[token] > 0.0)
        all +=
            policy[token] * (objective(with(prefix, token), eta, policy_of) -
                             eta * (std::log(policy[token]) - std::log(reference(prefix)[token])));
    return all;
  }

private:
  std::array<Policy, kTokens + 1> reference_{};
};

}  // namespace mgpu::lm
