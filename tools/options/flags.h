#pragma once

// Command lines. A command lists its flags in a table and gets typed values back. All spellings that Caffe's users type
// work: --flag=value, --flag value, -flag value, --noflag and --no-flag, `_` or `-` between words, before or after the
// command's name. An operand (a word that is not a flag) fills the first flag of the table that accepts it.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/error.h"

namespace cortado::tools {

enum class FlagKind { kSwitch, kText, kInteger, kNumber };

/// Where help lists a flag: in -h and --help, in --help alone, or nowhere.
enum class FlagRank { kCommon, kAdvanced, kHidden };

struct Flag {
  std::string name{};  ///< canonical spelling, `-` between words; a name of one letter is spelled -x
  FlagKind kind = FlagKind::kSwitch;
  std::string value{};     ///< placeholder of the value in help: "FILE"
  std::string help{};      ///< what it means, the same in every command that has it
  std::string note{};      ///< what else it means in this command
  std::string fallback{};  ///< default value; "" is none
  std::string implied{};   ///< value of the flag without one (`--skip-bad`); "" where it needs one
  char letter = 0;         ///< short form, -q
  bool required = false;
  std::string unless{};                                ///< with this flag, `required` does not hold
  bool operand = false;                                ///< may be given without its name
  bool (*accepts)(const std::string& word) = nullptr;  ///< which operands fill it; null: any
  FlagRank rank = FlagRank::kCommon;
  std::string group{};                 ///< heading in help; "": the command's own flags
  std::vector<std::string> choices{};  ///< allowed values; empty: any
  std::vector<std::string> former{};   ///< deprecated names, which still work with a warning
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();  ///< of an integer

  bool takes_value() const { return kind != FlagKind::kSwitch; }
  bool hidden() const { return rank == FlagRank::kHidden; }
  std::string description() const;  ///< help and note
};

Flag with_note(Flag flag, std::string note);
/// The flag as a required one.
Flag required(Flag flag);
/// The flags, listed by --help but not by -h.
std::vector<Flag> advanced(std::vector<Flag> flags);
std::vector<Flag> in_group(const std::string& group, std::vector<Flag> flags);
std::vector<Flag> joined(std::vector<std::vector<Flag>> lists);

/// Operands beyond those that fill flags.
struct Operands {
  std::string name;  ///< "IMAGE..."
  std::string help;
  int least = 0, most = 0;
};

/// What a command line gave. Asking for a name that is not in the command's table is an internal error.
class Arguments {
 public:
  bool knows(const std::string& name) const { return flags_.contains(name); }  ///< whether the command has the flag
  bool has(const std::string& name) const;                                     ///< given, not merely defaulted
  bool on(const std::string& name) const;
  std::string text(const std::string& name) const;                ///< the last one given, or the fallback
  std::vector<std::string> texts(const std::string& name) const;  ///< all given, each split at commas
  std::vector<std::string> each(const std::string& name) const;   ///< all given, not split
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  const std::vector<std::string>& operands() const { return operands_; }
  /// All that was given, by flag; "true" or "false" for a switch.
  const std::map<std::string, std::vector<std::string>>& given() const { return given_; }
  FlagKind kind(const std::string& name) const { return flags_.at(name).kind; }
  /// Adds flags that the command line does not give. Flags that the command does not have are left out. Throws
  /// Error(kUsage) for a value that the command line would not accept.
  void add(const std::map<std::string, std::vector<std::string>>& given);
  void set(const std::string& name, const std::string& value);  ///< in place of what was given
  void drop(const std::string& name) { given_.erase(name); }

 private:
  friend class FlagParser;
  const Flag& flag(const std::string& name, FlagKind kind) const;

  std::map<std::string, Flag> flags_;
  std::map<std::string, std::vector<std::string>> given_;
  std::vector<std::string> operands_;
};

/// Parses `words` (without program and command names). A deprecated name logs a warning with the new one. Throws
/// Error(kUsage), with the nearest known flag.
Arguments parse_flags(const std::vector<Flag>& flags, const Operands& operands, const std::vector<std::string>& words);

/// Index in `words` of the first operand, given every flag that may occur; words.size() if there is none.
size_t first_operand(const std::vector<Flag>& flags, const std::vector<std::string>& words);

std::vector<std::string> split(const std::string& text, char separator);

/// Returns an Error(kUsage) to throw.
Error usage_error(std::string message, std::string hint = {});

Flag decode_flag();  ///< --decode, for commands that read data

/// Requests the decoder that --decode names. Throws Error(kUsage) for the GPU's on the CPU.
void choose_decoder(const Arguments& arguments, Context& context);

Flag skip_bad_flag();  ///< --skip-bad, for commands that read datasets
int64_t skip_bad_of(const Arguments& arguments);

}  // namespace cortado::tools
