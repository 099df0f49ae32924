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

/// Thrown when code reads a refused key of a Config. A key is refused if its value is wrong, if it
/// is required but missing, or if an unknown name in a file or on the command line resembles it. If
/// an unknown name resembles no key, every key that is not set is refused, because the user may
/// have meant any of these keys. Rules about several keys are not checked if they read a refused
/// key.
class RefusedKey : public Error {
public:
  using Error::Error;
};

/// The configuration of one run: a value for every key of the table. A getter of a type, such as
/// integer(), throws Error for a key of another type, which is a bug of the program. Each of these
/// getters except text() also throws Error if the value is a word such as `auto`. Call is() first
/// to test for such a word.
class Config {
public:
  struct Value {
    std::string text{};                // as in YAML, scalars unquoted: "3e-4", "[1, 3]"
    std::vector<std::int64_t> list{};  // the value as a list; if it is empty, `text` is the value
    Place place{};
    std::string written{};  // of a path: as given, with `~` and variables replaced
  };

  /// Makes a config from `values`, by key name. A key that is not in `values` gets its default.
  /// `notes` are lines for the banner about how the values were read, for example that a key was
  /// given under an alias.
  ///
  /// Memory: `table` has to outlive the config.
  /// Errors: Error for a name that is not in the table, or a value that its key does not accept.
  ///         read_config() reports such mistakes of users before it makes a Config.
  Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values,
         std::vector<std::string> notes = {});

  /// Makes a config whose getters throw RefusedKey for the `refused` keys. With it, rules about
  /// several keys can be checked although some values are wrong.
  Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values,
         std::set<std::string, std::less<>> refused);

  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;  // also returns choices and words such as `auto`
  double seconds(std::string_view name) const;
  std::int64_t bytes(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

  /// Returns the values of the mapping {NAME: VALUE} that is set for key `name`; texts() returns
  /// the names. If the key has a list instead of a mapping, returns the list.
  std::vector<std::string> values(std::string_view name) const;

  /// Returns whether the value of key `name` is `word`, one of KeySpec::choices. All values of a
  /// key of type choice are such words. Keys of other types may also accept a word, such as "auto",
  /// "all" or "null".
  bool is(std::string_view name, std::string_view word) const;

  /// Formats the value of any key for printing: "3e-4", "30min", "[1, 3]".
  std::string shown(std::string_view name) const;

  /// Returns whether a file or the command line sets the key.
  bool is_given(std::string_view name) const;

  /// Returns whether a file or the command line sets the key to a value other than its default.
  /// Checks that refuse a key use is_changed() instead of is_given(), because a file that
  /// --print-config wrote also sets keys to their defaults. A path always differs from a relative
  /// default, because paths that are set become absolute.
  bool is_changed(std::string_view name) const;
  const Place& place(std::string_view name) const;

  /// Returns the path that a file or the command line gives for key `name`. `~` and variables in
  /// the path are replaced, but the path may be relative. Returns "" for a default, for a word such
  /// as `null`, and for a value that is not a path (see is_path()).
  const std::string& written(std::string_view name) const;

  /// Returns the names of the keys that are set to a value other than their default, in the order
  /// of the table.
  std::vector<std::string> not_default() const;
  const std::vector<std::string>& notes() const { return notes_; }

  /// Makes the failure (exit 78) for a broken rule about several keys. Its text points with a caret
  /// at the value of key `name`, or shows the default if the key is not set.
  Failure problem(std::string_view code, std::string_view name, std::string sentence,
                  std::string help = "") const;

  /// Returns a copy in which key `name` has the value `text`.
  /// Errors: Error for a name that is not in the table, or a value that its key does not accept.
  Config with(std::string_view name, std::string_view text) const;

  /// Returns the specifications of all keys that the job reads, in the order of the table.
  std::vector<const KeySpec*> keys() const;

  /// Formats the keys that the job reads, with their values or defaults, as canonical YAML. Reading
  /// this YAML gives the same values of these keys.
  std::string resolved_yaml() const;

  /// Returns a SHA-256 over the values of the keys that the job reads and that can change results
  /// (KeySpec::identity). A run keeps its identity when it is resumed.
  std::string identity() const;

  const KeyTable& table() const { return *table_; }
  const KeyValue& value(std::string_view name) const;

private:
  struct Entry {
    KeyValue value;
    Place place;
    std::string written{};
  };
  const Entry& entry(std::string_view name) const;
  const KeyValue& value_of_type(std::string_view name, KeyType type) const;

  const KeyTable* table_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string> notes_;
  std::set<std::string, std::less<>> refused_;
};

}  // namespace mgpu
