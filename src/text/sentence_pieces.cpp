#include "sentence_pieces.hpp"

#include <cstdint>
#include <optional>
#include <unordered_set>

#include <mgpu/base/error.hpp>
#include <mgpu/base/lfs_pointer.hpp>
#include <mgpu/base/utf8.hpp>

#include "code_points.hpp"
#include "json_quoted.hpp"

namespace mgpu::text {
namespace {

constexpr std::size_t kMaxPieceBytes = 1024;

[[noreturn]] void refuse_model(const fs::path& file, std::string_view code, std::string sentence) {
  throw Failure(
      {std::string(code), ExitCode::data, std::move(sentence), {"  --> " + file.string()}, ""});
}

/// A field of a protobuf message.
struct WireField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  // the value, if the wire type is varint
  std::string_view bytes;   // the value, if the field has a length: a text or a message
};

/// Reads the fields of a protobuf message one after the other. For fields of 4 or 8 bytes, next()
/// returns only WireField::number, because no caller needs the value.
class WireReader {
public:
  WireReader(std::string_view bytes, const fs::path& file) : rest_(bytes), file_(file) {}

  std::optional<WireField> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    WireField field{.number = key >> 3U, .value = 0, .bytes = {}};
    switch (key & 7U) {
      case 0:
        field.value = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        refuse();
    }
    return field;
  }

private:
  [[noreturn]] void refuse() const {
    refuse_model(file_, "E541", "malformed tokenizer file: it is no SentencePiece model");
  }

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) refuse();
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    refuse();
  }

  std::string_view rest_;
  const fs::path& file_;
};

enum class PieceType : std::uint64_t { normal = 1, control = 3, user_defined = 4 };

struct SentencePiece {
  std::string_view text;
  PieceType type = PieceType::normal;
};

SentencePiece read_piece(std::string_view message, const fs::path& file) {
  SentencePiece piece;
  WireReader reader(message, file);
  while (const auto field = reader.next()) {
    if (field->number == 1) piece.text = field->bytes;
    if (field->number == 3) piece.type = static_cast<PieceType>(field->value);
  }
  if (piece.text.empty() || piece.text.size() > kMaxPieceBytes ||
      find_bad_utf8(piece.text) != std::string_view::npos)
    refuse_model(file, "E541", "malformed tokenizer file: a piece is empty, too long or not UTF-8");
  return piece;
}

/// Refuses models that do not use BPE, because TokenizerParts supports no other kind of model.
/// `message` is the trainer_spec of the model.
void check_trainer(std::string_view message, const fs::path& file) {
  constexpr std::uint64_t kUnigram = 1, kBpe = 2;
  std::uint64_t kind = kUnigram;
  WireReader reader(message, file);
  while (const auto field = reader.next())
    if (field->number == 3) kind = field->value;
  if (kind != kBpe)
    refuse_model(file, "E542", "a SentencePiece model without BPE is not supported");
}

void check_normalizer(std::string_view message, const fs::path& file) {
  WireReader reader(message, file);
  while (const auto field = reader.next())
    if (field->number == 2 && !field->bytes.empty())
      refuse_model(file, "E542", "a SentencePiece model that normalizes texts is not supported");
}

std::vector<SentencePiece> read_pieces(std::string_view model, const fs::path& file) {
  std::vector<SentencePiece> pieces;
  WireReader reader(model, file);
  bool has_trainer = false;
  while (const auto field = reader.next()) {
    if (field->number == 1) pieces.push_back(read_piece(field->bytes, file));
    if (field->number == 2) check_trainer(field->bytes, file);
    if (field->number == 3) check_normalizer(field->bytes, file);
    has_trainer = has_trainer || field->number == 2;
  }
  if (pieces.empty() || !has_trainer)
    refuse_model(file, "E541", "malformed tokenizer file: it is no SentencePiece model");
  return pieces;
}

/// Appends to `json`, a list of merges, all pairs of pieces whose concatenation is the piece
/// `whole`.
void append_merges(std::string_view whole, const std::unordered_set<std::string_view>& vocabulary,
                   std::string& json) {
  for (std::size_t at = character_bytes(whole.front()); at < whole.size();
       at += character_bytes(whole[at])) {
    const std::string_view left = whole.substr(0, at), right = whole.substr(at);
    if (!vocabulary.contains(left) || !vocabulary.contains(right)) continue;
    json += json.ends_with('[') ? "[" : ",[";
    json += json_quoted(left);
    json += ',';
    json += json_quoted(right);
    json += ']';
  }
}

}  // namespace

SentencePieces read_sentence_pieces(std::string_view model, const fs::path& file) {
  refuse_lfs_pointer(file, model);
  const std::vector<SentencePiece> pieces = read_pieces(model, file);
  SentencePieces read;
  std::string& json = read.tokenizer;
  json = R"({"model": {"type": "BPE", "vocab": {)";
  std::unordered_set<std::string_view> vocabulary;
  for (const SentencePiece& piece : pieces) {
    if (!vocabulary.empty()) json += ',';
    json += json_quoted(piece.text);
    json += ":" + std::to_string(vocabulary.size());
    if (!vocabulary.insert(piece.text).second)
      refuse_model(file, "E541", "malformed tokenizer file: a piece occurs twice");
    const bool is_control = piece.type == PieceType::control;
    if (is_control || piece.type == PieceType::user_defined)
      read.tokens.push_back({.content = std::string(piece.text), .special = is_control});
  }
  json += R"(}, "merges": [)";
  for (const SentencePiece& piece : pieces)
    append_merges(piece.text, vocabulary, json);
  json += "]}}";
  return read;
}

}  // namespace mgpu::text
