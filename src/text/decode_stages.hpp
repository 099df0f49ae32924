#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "decoder.hpp"
#include "metaspace.hpp"
#include "pattern.hpp"

namespace mgpu::text {

// Each function makes one stage of a decoder. Except join_by_spaces(), the functions are named
// after the decoders of tokenizer.json. `joined` is true if an earlier stage has joined all tokens
// into one token. If so, the stage gets this token in several parts. Source: tokenizers 0.23,
// decoders/ and pre_tokenizers/

/// Puts spaces between tokens, for a tokenizer.json without a decoder.
std::unique_ptr<DecodeStage> join_by_spaces();
/// Maps characters to the bytes that they represent (ByteAlphabet). A token with other characters
/// is unchanged. The stage joins the bytes of all tokens. Bytes that are not valid UTF-8 become
/// U+FFFD.
std::unique_ptr<DecodeStage> decode_byte_level();
/// Turns consecutive tokens of the form <0x00> to <0xFF> into the bytes that they stand for. If
/// these bytes together are not valid UTF-8, each of the tokens becomes U+FFFD.
std::unique_ptr<DecodeStage> decode_byte_fallback();
/// Replaces the character MetaspaceOptions::replacement by a space. In the first token, the stage
/// removes this character instead, unless MetaspaceOptions::prepend is `never`. If `joined`, all
/// input is the first token.
std::unique_ptr<DecodeStage> decode_metaspace(const MetaspaceOptions& options, bool joined);
/// Replaces the matches of a pattern in each token by `content`. If `joined`, all input is one
/// token, and the stage emits text only when the input has ended.
std::unique_ptr<DecodeStage> decode_replace(std::shared_ptr<const Pattern> pattern,
                                            std::string content, bool joined);
/// Strips the character `content` from each token: up to `start` times at its start, and up to
/// `stop` times at its end. If `joined`, all input is one token.
std::unique_ptr<DecodeStage> decode_strip(std::string content, std::size_t start, std::size_t stop,
                                          bool joined);

}  // namespace mgpu::text
