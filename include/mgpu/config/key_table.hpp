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
  text,      // any text
  path,      // relative to the folder of the file that sets it; else to the working directory
  choice,    // one of `choices`
  duration,  // 30min, 24:00:00 or 90, converted to seconds
  bytes,     // 48GiB, 512MiB or 1000, converted to bytes
  integers,  // [1, 3, 5]
  texts,     // [a, b]
};

/// Describes a type to a user: "an integer", "a duration such as 90, 30min or 24:00:00".
std::string type_in_words(KeyType type);

/// The name of a setting in another program. No key of this program has exactly the same meaning,
/// so the name is refused (E111), with help.
struct ForeignName {
  std::string name;     // "per_device_train_batch_size"; a name with a section, such as
                        // "train.batch_size", matches only in full
  std::string program;  // "transformers"
  std::string help{};   // what to write instead; "" in KeySpec::foreign means "here it is `KEY`"
  bool top_level_only = false;  // true: the name is refused only outside of any section
};

/// The result of KeySpec::list_of_mapping. If the mapping was converted, `items` has the integers
/// as texts. Otherwise, `problem` says why the mapping is refused.
struct MappedList {
  std::vector<std::string> items{};
  std::string problem{};  // why the mapping is refused; "" if it was converted
  std::string help{};
};

/// One row of the table of keys: all that validation, --print-config, --explain and the reference
/// in conf/README.md know about a key.
struct KeySpec {
  std::string name;                                       // "train.max_steps"
  KeyType type = KeyType::text;                           // type of the value
  std::string default_value;                              // default, as YAML
  std::string summary;                                    // one line, what it does
  std::string unit{};                                     // "steps", "seconds"; "" for none
  double min = -std::numeric_limits<double>::infinity();  // inclusive, also for list elements
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};  // of type choice: its values; of another type: words
                                       // such as "auto" or "all" that are also accepted
  std::vector<std::string> aliases{};  // other accepted names; the banner notes their use
  std::string alias_note{};            // how the key differs from the usual meaning of its aliases
  // Of type text, path or texts: returns why a value or an element of a list is wrong (E107);
  // nullptr if it is right.
  const char* (*why_not)(const std::string& value) = nullptr;
  bool identity = true;   // false: the key does not change results, so a resumed run may change it
  bool required = false;  // true: a file or the command line has to give it
  std::string file_ending{};  // of type path: a value with neither this ending nor a `/` is a
                              // name, not a path; "": all values are paths
  // Of type integers: converts a mapping such as {"model.layers.0": 0} to a list of integers. Keys
  // and values of the mapping are passed as text; a value that is not a scalar is passed as "".
  MappedList (*list_of_mapping)(const std::vector<std::pair<std::string, std::string>>& entries) =
      nullptr;
  bool is_model = false;    // of type path: the folder of a language model, or its Hub name
  std::string text_mark{};  // of type path: a value that contains this is a text, not a path
  bool may_map = false;     // of type texts: a mapping {NAME: VALUE} is accepted, too
  std::vector<ForeignName> foreign{};  // names of this setting in other programs
  std::vector<std::string> jobs{};     // jobs that read the key; empty: all jobs

  bool is_read_by(std::string_view job) const;
};

/// Returns whether `value` is a text instead of a path, because it contains KeySpec::text_mark.
bool is_marked_text(const KeySpec& spec, std::string_view value);

/// Returns whether `value`, a valid value of `spec`, is the path of a file or folder. Do not call
/// it with a word such as "auto", which has a special meaning for the key.
bool is_path(const KeySpec& spec, std::string_view value);

/// A name that has no effect in this program: accepted in a file and on the command line, and noted
/// in the banner.
struct AcceptedName {
  std::string name;  // "data.num_workers"
  std::string why;   // "each rank cuts its own batches"
};

/// All keys of the program, in the order in which they are printed.
class KeyTable {
public:
  /// Adds a key.
  /// Errors: Error when the name or an alias is empty or already names a key, when a key has the
  ///         name of a section, or when the default does not parse. Also the errors of
  ///         add_foreign() for the names in `foreign`.
  void add(KeySpec spec);

  /// Records that `job` reads the key `name`. Once a key has such a record, only the recorded jobs
  /// read it. A key without a record is read by all jobs.
  /// Errors: Error when there is no such key.
  void add_reader(std::string_view name, std::string job);

  /// Accepts another name for a whole section: ("training", "train") accepts `training.max_steps`.
  void add_section_alias(std::string alias, std::string section);

  /// Accepts a name that has no effect here: a file or the command line may contain it, and the
  /// banner notes it.
  /// Errors: Error when a key has that name.
  void accept(AcceptedName name);

  /// Adds the name of a setting in another program. Files and arguments of the command line that
  /// contain the name are refused (E111), with help.
  /// Errors: Error when find_foreign() already finds the name.
  void add_foreign(ForeignName name);

  /// Returns what add_foreign() added for `path`, or for its last part, such as "epochs" in
  /// "train.epochs". A name with ForeignName::top_level_only is found only if `path` has no
  /// section. Returns nullptr if no name is found.
  const ForeignName* find_foreign(std::string_view path) const;

  const std::vector<ForeignName>& foreign_names() const { return foreign_; }

  /// Returns what accept() recorded for `name`; nullptr if no such name is accepted.
  const AcceptedName* find_accepted(std::string_view name) const;

  /// Returns the key with this name, which must not be an alias; nullptr if there is no such key.
  const KeySpec* find(std::string_view name) const;

  /// Returns the key with this name or alias; the section in the name may be an alias, too. Returns
  /// nullptr if there is no such key.
  const KeySpec* find_called(std::string_view name) const;

  /// Returns whether `name` is a section: whether some key or alias is called "<name>.<something>".
  bool has_section(std::string_view name) const;

  /// Replaces the alias of a section at the start of `name` with the name of that section. After
  /// add_section_alias("training", "train"), "training.max_steps" becomes "train.max_steps".
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
