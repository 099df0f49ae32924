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

/// The configuration of one run: a value for every key of the table. A getter accepts only the
/// names of keys of its type. Any other name is a bug of the program and throws Error.
class Config {
public:
  struct Value {
    std::string text{};                // as in YAML, scalars unquoted: "3e-4", "[1, 3]"
    std::vector<std::int64_t> list{};  // set instead of `text` for type integers
    Place place{};
  };

  /// Keys that `values` lacks get their default. `notes`: lines for the banner about how the values
  /// were read, such as keys given under another name.
  ///
  /// Memory: `table` has to outlive the config.
  /// Errors: Error for a name that is not in the table, or a value that does not have the type of
  ///         its key. For files and arguments, read_config() has reported such mistakes before.
  Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values,
         std::vector<std::string> notes = {});

  /// Makes a config whose getters throw RefusedKey for the `refused` keys. With it, rules between
  /// keys can be checked although some values are wrong.
  Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values,
         std::set<std::string, std::less<>> refused);

  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;  // also for a word of any type
  double seconds(std::string_view name) const;
  std::int64_t bytes(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

  /// Returns whether the value is this word ("auto", "all", "null") rather than a value of the
  /// key's type.
  bool is(std::string_view name, std::string_view word) const;

  /// Formats the value of any key for printing: "3e-04", "30min", "[1, 3]".
  std::string shown(std::string_view name) const;

  /// Returns whether a file or the command line sets the key.
  bool is_given(std::string_view name) const;
  const Place& place(std::string_view name) const;

  /// Returns the keys that are set to another value than their default, in the table's order.
  std::vector<std::string> not_default() const;
  const std::vector<std::string>& notes() const { return notes_; }

  /// Returns a failure with exit code 78 that points at the key's value with a caret. Rules between
  /// keys throw it.
  Failure problem(std::string_view code, std::string_view name, std::string sentence,
                  std::string help = "") const;

  /// Returns a copy with another value for one key. Errors: those of the constructor.
  Config with(std::string_view name, std::string_view text) const;

  /// Returns the specifications of the keys that the job reads, in the table's order; of all keys
  /// if the table has no key `job`.
  std::vector<const KeySpec*> keys() const;

  /// Returns the job's keys, defaults included, as canonical YAML. A program that reads this YAML
  /// gets the same config.
  std::string resolved_yaml() const;

  /// Returns the SHA-256 of the job's keys that determine results.h5. All attempts of one run have
  /// the same identity.
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
