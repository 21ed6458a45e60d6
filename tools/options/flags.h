#pragma once

// Command lines, in one place: a command lists its flags in a table and gets typed values back. Spellings that Caffe's
// users type all work: --flag=value, --flag value, -flag value, --noflag and --no-flag, `_` or `-` between words,
// before or after the command's name. An operand (a word that is no flag) fills the first flag of the table that takes
// operands.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/error.h"

namespace cortado::tools {

enum class FlagKind { kSwitch, kText, kInteger, kNumber };

struct Flag {
  std::string name{};  ///< canonical spelling, `-` between words
  FlagKind kind = FlagKind::kSwitch;
  std::string value{};     ///< what help calls the value: "FILE"
  std::string help{};      ///< one sentence
  std::string fallback{};  ///< value when it is not given; "" is none
  char letter = 0;         ///< short form, -q
  bool required = false;
  std::string unless{};                ///< where this flag is given, `required` does not hold
  bool operand = false;                ///< may be given without its name
  bool hidden = false;                 ///< accepted for Caffe's sake, not shown in help
  std::vector<std::string> choices{};  ///< the only values it takes; empty: any
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();  ///< of an integer
  std::vector<std::string> kinds{};  ///< of Operands::kinds, those that use it; empty: all

  bool takes_value() const { return kind != FlagKind::kSwitch; }
};

/// Operands beyond those that fill flags.
struct Operands {
  std::string name;  ///< "IMAGE..."
  std::string help;
  int least = 0, most = 0;
  std::vector<std::string> kinds{};  ///< what the first operand may be, where it says what the command is to do
};

/// The sentence about it in help, with the kinds that it is for.
std::string help_with_kinds(const Flag& flag);

/// The same flags for these kinds alone.
std::vector<Flag> for_kinds(const std::vector<std::string>& kinds, std::vector<Flag> flags);

/// What a command line gave. Asking for a name that is not in the command's table is an internal error.
class Arguments {
 public:
  bool has(const std::string& name) const;  ///< given, not merely defaulted
  bool on(const std::string& name) const;
  std::string text(const std::string& name) const;                ///< the last one given, or the fallback
  std::vector<std::string> texts(const std::string& name) const;  ///< all given, each split at commas
  std::vector<std::string> each(const std::string& name) const;   ///< all given, as they stand
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  const std::vector<std::string>& operands() const { return operands_; }
  /// All that was given, by flag and as it stands; "true" or "false" for a switch.
  const std::map<std::string, std::vector<std::string>>& given() const { return given_; }
  FlagKind kind(const std::string& name) const { return flags_.at(name).kind; }
  /// As if the command line had given these, where it does not give the flag itself; flags that the command does not
  /// have are left out. Throws Error(kUsage) for a value that the command line would not take.
  void add(const std::map<std::string, std::vector<std::string>>& given);

 private:
  friend class FlagParser;
  const Flag& flag(const std::string& name, FlagKind kind) const;

  std::map<std::string, Flag> flags_;
  std::map<std::string, std::vector<std::string>> given_;
  std::vector<std::string> operands_;
};

/// Reads `words` (without program and command names). Throws Error(kUsage) with the nearest known flag.
Arguments parse_flags(const std::vector<Flag>& flags, const Operands& operands, const std::vector<std::string>& words);

/// Index in `words` of the first operand, given every flag that any command knows; words.size() if there is none.
size_t first_operand(const std::vector<Flag>& flags, const std::vector<std::string>& words);

std::vector<std::string> split(const std::string& text, char separator);

/// Error(kUsage), to be thrown.
Error usage_error(std::string message, std::string hint = {});

Flag decode_flag();  ///< --decode, for commands that read data

/// Asks for the decoder that --decode names. Throws Error(kUsage) for the GPU's on the CPU.
void choose_decoder(const Arguments& arguments, Context& context);

Flag skip_bad_flag();  ///< --skip-bad, for commands that read datasets
int64_t skip_bad_of(const Arguments& arguments);

}  // namespace cortado::tools
