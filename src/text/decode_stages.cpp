#include "decode_stages.hpp"

#include <array>
#include <vector>

#include <mgpu/base/utf8.hpp>

#include "byte_alphabet.hpp"
#include "code_points.hpp"
#include "lossy_utf8.hpp"

namespace mgpu::text {
namespace {

class JoinBySpaces final : public DecodeStage {
public:
  void add(std::string_view token, const Emit& emit) override {
    if (!first_) emit(" ");
    emit(token);
    first_ = false;
  }

private:
  bool first_ = true;
};

class ByteLevel final : public DecodeStage {
public:
  void add(std::string_view token, const Emit& emit) override {
    bytes_.clear();
    for (std::size_t i = 0; i < token.size(); i += character_bytes(token[i])) {
      const auto byte = ByteAlphabet::get().byte(character_at(token, i));
      if (!byte) {
        bytes_.assign(token);
        break;
      }
      bytes_ += static_cast<char>(*byte);
    }
    pass_on(utf8_.add(bytes_), emit);
  }

  void finish(const Emit& emit) override { pass_on(utf8_.finish(), emit); }

private:
  static void pass_on(const std::string& text, const Emit& emit) {
    if (!text.empty()) emit(text);
  }

  LossyUtf8 utf8_;
  std::string bytes_;
};

class ByteFallback final : public DecodeStage {
public:
  void add(std::string_view token, const Emit& emit) override {
    if (const int byte = byte_of(token); byte >= 0) {
      bytes_ += static_cast<char>(byte);
      return;
    }
    finish(emit);
    emit(token);
  }

  void finish(const Emit& emit) override {
    if (find_bad_utf8(bytes_) == std::string_view::npos) {
      if (!bytes_.empty()) emit(bytes_);
    } else {
      for (std::size_t i = 0; i < bytes_.size(); ++i)
        emit(LossyUtf8::kReplacement);
    }
    bytes_.clear();
  }

private:
  static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  }

  /// Returns the byte that a token stands for, such as 10 for "<0x0A>"; -1 for other tokens.
  static int byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const int high = digit(token[3]);
    const int low = digit(token[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
  }

  std::string bytes_;  // bytes of the consecutive byte tokens so far
};

class Metaspace final : public DecodeStage {
public:
  Metaspace(const MetaspaceOptions& options, bool joined)
      : mark_(options.replacement),
        drop_in_first_(options.prepend != PrependScheme::never),
        joined_(joined) {}

  void add(std::string_view token, const Emit& emit) override {
    std::string text;
    for (std::size_t i = 0; i < token.size(); i += character_bytes(token[i])) {
      const std::string_view character = token.substr(i, character_bytes(token[i]));
      if (character != mark_) {
        text += character;
      } else if (!(first_ && drop_in_first_)) {
        text += ' ';
      }
    }
    first_ = joined_;
    emit(text);
  }

private:
  std::string mark_;
  bool drop_in_first_, joined_;
  bool first_ = true;
};

class Replace final : public DecodeStage {
public:
  Replace(std::shared_ptr<const Pattern> pattern, std::string content, bool joined)
      : pattern_(std::move(pattern)), content_(std::move(content)), joined_(joined) {}

  void add(std::string_view token, const Emit& emit) override {
    text_ += token;
    if (!joined_) finish(emit);
  }

  void finish(const Emit& emit) override {
    replace_matches(text_, *pattern_, content_, sections_);
    emit(text_);
    text_.clear();
  }

private:
  std::shared_ptr<const Pattern> pattern_;
  std::string content_;
  bool joined_;
  std::string text_;
  std::vector<Section> sections_;
};

/// Removes the character `content_` at both ends of each token. If an earlier stage has joined all
/// tokens into one token (`joined_`), this stage gets the token in parts. It holds back each
/// `content_` that may be at the end of the token.
class Strip final : public DecodeStage {
public:
  Strip(std::string content, std::size_t start, std::size_t stop, bool joined)
      : content_(std::move(content)), start_(start), stop_(stop), joined_(joined) {}

  void add(std::string_view token, const Emit& emit) override {
    while (at_start_ && removed_ < start_ && token.starts_with(content_)) {
      token.remove_prefix(content_.size());
      ++removed_;
    }
    if (!token.empty()) at_start_ = false;
    std::string_view body = token;
    std::size_t tail = 0;
    while (body.ends_with(content_)) {
      body.remove_suffix(content_.size());
      ++tail;
    }
    if (!body.empty()) held_ = flush(held_, emit), emit(body);
    held_ += tail;
    if (held_ > stop_) held_ = stop_ + flush(held_ - stop_, emit);
    if (!joined_) finish(emit);
  }

  void finish(const Emit&) override {
    held_ = removed_ = 0;
    at_start_ = true;
  }

private:
  /// Emits `content_` `count` times. Returns 0, the number of held characters that remain.
  std::size_t flush(std::size_t count, const Emit& emit) const {
    for (std::size_t i = 0; i < count; ++i)
      emit(content_);
    return 0;
  }

  std::string content_;
  std::size_t start_, stop_;
  bool joined_;
  bool at_start_ = true;
  std::size_t removed_ = 0, held_ = 0;  // counts of content_: removed at the start, held back
};

}  // namespace

std::unique_ptr<DecodeStage> join_by_spaces() {
  return std::make_unique<JoinBySpaces>();
}

std::unique_ptr<DecodeStage> decode_byte_level() {
  return std::make_unique<ByteLevel>();
}

std::unique_ptr<DecodeStage> decode_byte_fallback() {
  return std::make_unique<ByteFallback>();
}

std::unique_ptr<DecodeStage> decode_metaspace(const MetaspaceOptions& options, bool joined) {
  return std::make_unique<Metaspace>(options, joined);
}

std::unique_ptr<DecodeStage> decode_replace(std::shared_ptr<const Pattern> pattern,
                                            std::string content, bool joined) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content), joined);
}

std::unique_ptr<DecodeStage> decode_strip(std::string content, std::size_t start, std::size_t stop,
                                          bool joined) {
  return std::make_unique<Strip>(std::move(content), start, stop, joined);
}

}  // namespace mgpu::text
