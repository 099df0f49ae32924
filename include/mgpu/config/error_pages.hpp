#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu {

/// Error codes of configurations, with the texts that --explain prints.
inline constexpr auto kConfigErrors = std::to_array<ErrorPage>({
    {"E101", "unknown key",
     "A name in the configuration is not in the table of keys, so nothing would read it.",
     "Take the name that is suggested, or find the right one with --print-config=full or --explain "
     "KEY."},
    {"E102", "key at the wrong level",
     "The key exists, but the program reads it in another section.",
     "Move it to the section that the help line names. Sections are nested in a file and joined by "
     "dots on the command line."},
    {"E103", "key given twice",
     "One file (or the command line) gives the same key two values, perhaps once under an alias. "
     "The program takes neither silently.",
     "Delete one of the two. A file that overrides another (--with) and KEY=VALUE on the command "
     "line may repeat keys."},
    {"E104", "value of the wrong type",
     "The value does not have the type of the key. Types are strict: 0x10, 1e3, 010 and \"8\" are "
     "not integers, and yes is not a flag.",
     "Write the value as the caret line says. --explain KEY shows what a key takes."},
    {"E105", "not one of the choices",
     "The key takes one of a few words, and the value is a different one.",
     "Take one of the listed words."},
    {"E106", "value out of range",
     "The value has the right type, but is too small, too large, or not finite.",
     "Take a value inside the bounds that are shown."},
    {"E107", "value that breaks a rule",
     "The value is valid by itself, but conflicts with another key or breaks a rule of its module.",
     "The sentence names the rule; change one of the keys that it names."},
    {"E108", "not well-formed YAML",
     "The text cannot be parsed: for example a tab as indentation, an open quote or bracket, a "
     "line outside any section, or an empty file.",
     "Correct the line under the caret; the cause may be one line above."},
    {"E109", "part of YAML that is not read",
     "The reader refuses anchors, aliases, tags, directives, several documents, more than 1 MiB, "
     "100,000 values or 32 levels, and ${...} in values that are not paths.",
     "Write values out. Share them between files with include: or --with. Write $${ for the text "
     "${ in a value."},
    {"E110", "bytes that are not text", "The file is not UTF-8, or has control characters in it.",
     "Save the file as UTF-8 without control characters."},
    {"E111", "name of another program",
     "The key has the name that transformers, accelerate, axolotl, TRL or vLLM use. Meanings "
     "differ, so it is not translated silently.",
     "Write the name that the help line gives, and check its meaning with --explain KEY."},
    {"E112", "unknown schema",
     "`schema` names a version of the file format that this program does not read.",
     "Use a newer program, or write the file for the version that is shown."},
    {"E113", "include that does not work",
     "A file below `include` cannot be read, or files include each other in a circle.",
     "Paths in `include` are relative to the folder of the file that contains them."},
    {"E114", "required key missing", "A key without a default is not set.",
     "Add the line that the help shows."},
    {"E115", "variable in a path that is not set",
     "A path has ~, $NAME or ${NAME}, and that environment variable is not set or is empty where "
     "rank 0 runs. With an empty value, the path would name another place.",
     "Export the variable before the start, or write the folder itself. $$ stands for a $ in a "
     "name."},
    {"E124", "key without a meaning here",
     "The key does nothing together with another one that is set, so it is refused instead of "
     "ignored.",
     "Remove it, or change the other key that the sentence names."},
});

}  // namespace mgpu
