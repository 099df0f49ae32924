#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/config/key_value.hpp>

namespace mgpu {

/// Thrown when a rule asks for a key whose value was refused, so the rule cannot be checked.
class RefusedKey : public Error {
public:
  using Error::Error;
};

/// The values of one run: every key of the table has one. Getters take only names that the table
/// has with that type; any other name is a bug of the program and throws Error.
class Config {
public:
  struct Value {
    std::string text{};                // as in YAML, scalars unquoted: "3e-4", "[1, 3]"
    std::vector<std::int64_t> list{};  // of `integers`, instead of `text`
    Place place{};
  };

  /// Keys that `values` lacks get their default. `notes`: lines for the banner about how the values
  /// were read, such as keys given under another name.
  ///
  /// Memory: `table` has to outlive the config.
  /// Errors: Error for a name that is not in the table and a value that is not of its type.
  ///         read_config() has checked files and arguments before.
  Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values,
         std::vector<std::string> notes = {});

  /// The same, but asking for one of the `refused` keys throws RefusedKey. This lets rules be
  /// checked although some values are wrong.
  Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values,
         std::set<std::string, std::less<>> refused);

  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;  // text, path, choice; words of any type
  double seconds(std::string_view name) const;
  std::int64_t bytes(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

  /// Whether the value is this word ("auto", "all", "null") rather than a value of the key's type.
  bool is(std::string_view name, std::string_view word) const;

  /// The value of any key in printed form: "3e-04", "30min", "[1, 3]".
  std::string shown(std::string_view name) const;

  /// Whether a file or the command line gave the key.
  bool is_given(std::string_view name) const;
  const Place& place(std::string_view name) const;

  /// The keys that were given a value other than their default, in the table's order.
  std::vector<std::string> not_default() const;
  const std::vector<std::string>& notes() const { return notes_; }

  /// A failure that points at the key's value with a caret, exit 78. Used by rules between keys.
  Failure problem(std::string_view code, std::string_view name, std::string sentence,
                  std::string help = "") const;

  /// Returns a copy with another value for one key. Errors: those of the constructor.
  Config with(std::string_view name, std::string_view text) const;

  /// The table rows of the keys that the job reads, in the table's order; all rows if there is no
  /// key `job`.
  std::vector<const KeySpec*> keys() const;

  /// Canonical YAML of the job's keys, defaults included: feeding it back gives the same config.
  std::string resolved_yaml() const;

  /// SHA-256 over the job's keys that determine results.h5: what makes two starts the same run.
  std::string identity() const;

  const KeyTable& table() const { return *table_; }
  const KeyValue& value(std::string_view name) const;

private:
  struct Entry {
    KeyValue value;
    Place place;
  };
  const Entry& entry(std::string_view name) const;
  const KeyValue& value_of_type(std::string_view name, KeyType type) const;

  const KeyTable* table_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string> notes_;
  std::set<std::string, std::less<>> refused_;
};

}  // namespace mgpu
