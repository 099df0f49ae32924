#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/error.hpp>

namespace mgpu {

enum class KeyType {
  integer,   // 12; no hexadecimal, exponent or underscore
  number,    // 3e-4, finite
  flag,      // true | false
  text,      //
  path,      // relative to the file that sets it (command line: to the shell)
  choice,    // one of `choices`
  duration,  // 30min, 24:00:00, 90 -> seconds
  bytes,     // 48GiB, 512MiB, 1000 -> bytes
  integers,  // [1, 3, 5]
};

/// One row of the table of keys: all that validation, --help, --print-config, --explain and the
/// README's reference know about a key.
struct KeySpec {
  std::string name;              // "train.max_steps"
  KeyType type = KeyType::text;  //
  std::string standard;          // default, as it would stand in YAML
  std::string text;              // one line, what it does
  std::string unit{};            // "steps", "seconds"; "" where it has none
  double min = -std::numeric_limits<double>::infinity();  // inclusive, numbers only
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};  // of a choice; words such as "auto" or "all" accepted beside
                                       // the type's own values
  std::vector<std::string> aliases{};  // guide names: accepted, and noted in the banner
  bool identity = true;  // false: does not change results.h5, so may differ when a run resumes
};

/// All keys of the program, in the order in which they are printed.
class KeyTable {
public:
  /// Errors: Error when the name or an alias is there already, or the default does not parse.
  void add(KeySpec spec);

  /// nullptr when there is no such key (aliases do not count).
  const KeySpec* find(std::string_view name) const;
  const std::vector<KeySpec>& keys() const { return keys_; }

private:
  std::vector<KeySpec> keys_;
};

/// Where a value was given: a file and its line, the command line, or nowhere (the default).
struct Place {
  std::string origin;  // "conf/train.yaml", "command line, argument 3", or "" for the default
  int line = 0;        // from 1; 0 where there is no line
  int column = 0;      // from 1, of the value
  std::string text;    // the whole line, for the caret
};

/// The values of one run: every key of the table has one. Getters take only names that are in
/// the table with that type; anything else is our bug and throws Error.
class Config {
public:
  struct Value {
    std::string text;                // as written, scalars unquoted
    std::vector<std::int64_t> list;  // of `integers`
    Place place;
  };

  Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values);

  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;  // text, path, choice; words of any type
  double seconds(std::string_view name) const;
  std::int64_t bytes(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;

  /// Whether the value is this word ("auto", "all", "null") instead of one of the key's type.
  bool is(std::string_view name, std::string_view word) const;

  /// Whether a file or the command line gave the key.
  bool is_given(std::string_view name) const;
  const Place& place(std::string_view name) const;

  /// A failure that points at the key's value with a caret, exit 78. For rules between keys.
  Failure problem(std::string_view code, std::string_view name, std::string sentence,
                  std::string help = "") const;

  /// Canonical YAML of all keys, defaults included: feeding it back gives the same config.
  std::string resolved_yaml() const;

  /// SHA-256 over the keys that determine results.h5: what makes two starts the same run.
  std::string identity() const;

  const KeyTable& table() const { return *table_; }

private:
  const Value& value(std::string_view name) const;

  const KeyTable* table_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace mgpu
