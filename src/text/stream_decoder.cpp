#include <mgpu/text/tokenizer.hpp>

#include "tokenizer_parts.hpp"

namespace mgpu::text {

struct StreamState {
  std::shared_ptr<const TokenizerParts> parts;
  bool skip_special_tokens;
  DecodeChain chain;
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : state_(std::make_unique<StreamState>(StreamState{tokenizer.parts_, skip_special_tokens,
                                                       DecodeChain(tokenizer.parts_->decoder)})) {}

StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::add(TokenId id) {
  std::string text;
  std::string_view token;
  const bool skipped = state_->skip_special_tokens && state_->parts->added.is_special(id);
  if (!skipped && state_->parts->decoded_text(id, token)) state_->chain.add(token, text);
  return text;
}

std::string StreamDecoder::finish() {
  std::string text;
  state_->chain.finish(text);
  return text;
}

}  // namespace mgpu::text
