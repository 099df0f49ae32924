#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "decoder.hpp"
#include "metaspace.hpp"
#include "pattern.hpp"

namespace mgpu::text {

// Each has the name of its type in tokenizer files. With `joined`, everything that comes in is
// one token in parts.
// Source: tokenizers 0.23, decoders/ and pre_tokenizers/

/// Spaces between tokens: what happens in a file without a decoder.
std::unique_ptr<DecodeStage> join_by_spaces();
/// Characters back to the bytes that they stand for; a token with others is taken as it is.
std::unique_ptr<DecodeStage> decode_byte_level();
/// Tokens <0x00> to <0xFF> in a row become their bytes if those are UTF-8, else a U+FFFD each.
std::unique_ptr<DecodeStage> decode_byte_fallback();
/// The mark becomes a space, or nothing in the first token.
std::unique_ptr<DecodeStage> decode_metaspace(const MetaspaceOptions& options, bool joined);
/// Matches of a pattern become `content`. A joined token is searched when all of it is there.
std::unique_ptr<DecodeStage> decode_replace(std::shared_ptr<const Pattern> pattern,
                                            std::string content, bool joined);
/// Up to `start` and `stop` times the character `content` off the ends of each token.
std::unique_ptr<DecodeStage> decode_strip(std::string content, std::size_t start, std::size_t stop,
                                          bool joined);

}  // namespace mgpu::text
