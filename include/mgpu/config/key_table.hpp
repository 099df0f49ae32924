#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mgpu {

enum class KeyType {
  integer,   // 12; no hexadecimal, exponent or underscore
  number,    // 3e-4, finite
  flag,      // true | false
  text,      //
  path,      // relative to the file that sets it, or to the shell's folder
  choice,    // one of `choices`
  duration,  // 30min, 24:00:00, 90 -> seconds
  bytes,     // 48GiB, 512MiB, 1000 -> bytes
  integers,  // [1, 3, 5]
  texts,     // [a, b]
};

/// Describes a type to a user: "an integer", "a duration such as 90, 30min or 24:00:00".
std::string type_in_words(KeyType type);

/// The name of a setting in another program. Its meaning differs from that of any key here, so the
/// name is refused (E111) with help.
struct ForeignName {
  std::string name;     // "per_device_train_batch_size"
  std::string program;  // "transformers"
  std::string help{};   // what to write instead; "" in KeySpec::foreign means "here it is `KEY`"
  bool top_level_only = false;
};

/// One row of the table of keys: all that validation, --help, --print-config, --explain and the
/// reference in conf/README.md know about a key.
struct KeySpec {
  std::string name;                                       // "train.max_steps"
  KeyType type = KeyType::text;                           //
  std::string default_value;                              // default, as YAML
  std::string summary;                                    // one line, what it does
  std::string unit{};                                     // "steps", "seconds"; "" for none
  double min = -std::numeric_limits<double>::infinity();  // inclusive, numbers only
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};  // of type choice: its values; of another type: words
                                       // such as "auto" or "all" that are also accepted
  std::vector<std::string> aliases{};  // other accepted names, noted in the banner
  std::string alias_note{};            // how the key differs from the usual meaning of those names
  const char* (*why_not)(const std::string& value) = nullptr;  // of type text: returns why a value
                                                               // is wrong (E107), or nullptr
  bool identity = true;       // false: does not change results.h5, so may differ when a run resumes
  bool required = false;      // true: a file or the command line has to give it
  std::string file_ending{};  // of type path: a value with neither this ending nor a `/` is a
                              // name, not a path; "": all values are paths
  std::vector<ForeignName> foreign{};  // names of the setting in other programs
  std::vector<std::string> jobs{};     // that read the key; empty: all jobs

  bool is_read_by(std::string_view job) const;
};

/// Returns whether `value` is the path of a file or folder. It must be a value of `spec`, but not
/// one of the key's words.
bool is_path(const KeySpec& spec, std::string_view value);

/// A name that has no effect in this program: accepted in a file, and noted in the banner.
struct AcceptedName {
  std::string name;  // "data.num_workers"
  std::string why;   // "each rank cuts its own batches"
};

/// All keys of the program, in the order in which they are printed.
class KeyTable {
public:
  /// Adds a key.
  /// Errors: Error when the name or an alias is already in use, a name is also a section, or the
  ///         default does not parse.
  void add(KeySpec spec);

  /// Records that a job reads the key. If a key has such records, only the recorded jobs read it.
  /// Errors: Error when there is no such key.
  void add_reader(std::string_view name, std::string job);

  /// Accepts another name for a whole section: ("training", "train") accepts `training.max_steps`.
  void add_section_alias(std::string alias, std::string section);

  /// Accepts a name that has no effect.
  /// Errors: Error when a key has that name.
  void accept(AcceptedName name);

  /// Adds a name of another program that corresponds to no key.
  /// Errors: Error when the name exists already.
  void add_foreign(ForeignName name);

  /// Looks up the last part of `path`, such as "epochs" in "train.epochs", as a name of another
  /// program. Returns nullptr if the name is unknown.
  const ForeignName* find_foreign(std::string_view path) const;

  const std::vector<ForeignName>& foreign_names() const { return foreign_; }

  /// Returns the accepted name `name`; nullptr if no such name is accepted.
  const AcceptedName* find_accepted(std::string_view name) const;

  /// Returns the key of that name, not of an alias; nullptr if there is no such key.
  const KeySpec* find(std::string_view name) const;

  /// Returns the key of that name or alias, also under the alias of its section; nullptr if there
  /// is no such key.
  const KeySpec* find_called(std::string_view name) const;

  /// Returns whether keys are called "<name>.<something>".
  bool has_section(std::string_view name) const;

  /// Returns `name`, in which the name of a section replaces an alias of that section.
  std::string canonical(std::string_view name) const;

  const std::vector<KeySpec>& keys() const { return keys_; }

private:
  std::vector<KeySpec> keys_;
  std::vector<AcceptedName> accepted_;
  std::vector<ForeignName> foreign_;
  std::vector<std::pair<std::string, std::string>> section_aliases_;
};

/// A function that adds the keys of one module to the table.
using AddKeys = void (*)(KeyTable& table);

}  // namespace mgpu
