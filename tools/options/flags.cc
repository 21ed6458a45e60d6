#include "tools/options/flags.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/log.h"
#include "core/text/text.h"
#include "data/pipeline/jpeg_decoding.h"

namespace cortado::tools {

namespace {

/// One word of the command line taken apart.
struct Word {
  std::string name, value;
  bool is_flag = false, has_value = false;
};

Word take_apart(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return {};
  const std::string body = word.substr(word[1] == '-' ? 2 : 1);
  const size_t equals = body.find('=');
  Word out{body.substr(0, equals), equals == std::string::npos ? "" : body.substr(equals + 1), true,
           equals != std::string::npos};
  std::replace(out.name.begin(), out.name.end(), '_', '-');
  return out;
}

/// The flag with this name, letter or deprecated name; null if there is none.
const Flag* flag_named(const std::vector<Flag>& flags, const std::string& name) {
  for (const Flag& flag : flags)
    if (flag.name == name || (name.size() == 1 && flag.letter == name[0])) return &flag;
  for (const Flag& flag : flags)
    if (std::ranges::find(flag.former, name) != flag.former.end()) return &flag;
  return nullptr;
}

/// The flag that `name` means, and whether it is negated; null if there is none.
const Flag* find_flag(const std::vector<Flag>& flags, const std::string& name, bool& negated) {
  negated = false;
  if (const Flag* flag = flag_named(flags, name)) return flag;
  if (name.rfind("no", 0) != 0) return nullptr;
  const Flag* flag = flag_named(flags, name.substr(name.rfind("no-", 0) == 0 ? 3 : 2));
  negated = flag != nullptr && flag->kind == FlagKind::kSwitch;
  return negated ? flag : nullptr;
}

template <typename T>
bool parse_whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  return status == std::errc() && stop == end && !text.empty();
}

std::string checked_value(const Flag& flag, const std::string& text) {
  const auto fail = [&](const std::string& problem) {
    throw usage_error("--" + flag.name + "=" + text + ": " + problem);
  };
  int64_t integer = 0;
  double number = 0;
  if (flag.kind == FlagKind::kSwitch) {
    if (text == "true" || text == "1" || text == "yes") return "true";
    if (text == "false" || text == "0" || text == "no") return "false";
    fail("must be true or false");
  }
  if (flag.kind == FlagKind::kNumber && !parse_whole(text, number)) fail("not a number");
  if (flag.kind == FlagKind::kInteger) {
    if (!parse_whole(text, integer)) fail("not a whole number");
    if (integer < flag.least) fail("must be at least " + std::to_string(flag.least));
    if (integer > flag.most) fail("must be at most " + std::to_string(flag.most));
  }
  if (flag.choices.empty()) return text;
  for (const std::string& choice : flag.choices)
    if (lower_case(choice) == lower_case(text)) return choice;
  fail("must be one of " + list_text(flag.choices));
  return text;
}

/// Whether `text` is a value of a flag that may be given without one.
bool is_value_of(const Flag& flag, const std::string& text) {
  int64_t integer = 0;
  return flag.implied.empty() || (flag.kind == FlagKind::kInteger && parse_whole(text, integer));
}

}  // namespace

class FlagParser {
 public:
  FlagParser(const std::vector<Flag>& flags, const Operands& operands) : table_(flags), expected_(operands) {
    for (const Flag& flag : flags) out_.flags_.emplace(flag.name, flag);
  }

  Arguments parse(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "--") {
        out_.operands_.insert(out_.operands_.end(), words.begin() + int64_t(i) + 1, words.end());
        break;
      }
      const Word word = take_apart(words[i]);
      if (word.is_flag)
        i += take_flag(words[i], word, i + 1 < words.size() ? &words[i + 1] : nullptr);
      else
        out_.operands_.push_back(words[i]);
    }
    fill_flags_from_operands();
    if (!asks_for_text()) check_operands();
    return std::move(out_);
  }

 private:
  /// Help and version are shown whatever else is missing.
  bool asks_for_text() const {
    return out_.given_.contains("help") || out_.given_.contains("h") || out_.given_.contains("version");
  }

  /// Returns how many of the following words it used up: 0 or 1.
  size_t take_flag(const std::string& as_typed, const Word& word, const std::string* next) {
    bool negated = false;
    const Flag* flag = find_flag(table_, word.name, negated);
    if (!flag) throw usage_error("unknown flag '" + as_typed + "'", did_you_mean("--" + word.name, spellings()));
    warn_of_former(*flag, word.name);
    if (!flag->takes_value()) {
      if (negated && word.has_value) throw usage_error("'" + as_typed + "': a negated switch takes no value");
      out_.given_[flag->name].push_back(checked_value(*flag, word.has_value ? word.value : negated ? "false" : "true"));
      return 0;
    }
    if (word.has_value) {
      out_.given_[flag->name].push_back(checked_value(*flag, word.value));
      return 0;
    }
    const bool follows = next && !is_known_flag(*next) && is_value_of(*flag, *next);
    if (!follows && !flag->implied.empty()) {
      out_.given_[flag->name].push_back(flag->implied);
      return 0;
    }
    if (!follows) throw usage_error("--" + flag->name + " needs a value", hint_for(*flag));
    out_.given_[flag->name].push_back(checked_value(*flag, *next));
    return 1;
  }

  static void warn_of_former(const Flag& flag, const std::string& name) {
    if (std::ranges::find(flag.former, name) != flag.former.end() && name != flag.name)
      log_warning() << "--" << name << " is deprecated: use --" << flag.name;
  }

  bool is_known_flag(const std::string& text) const {
    bool negated = false;
    const Word word = take_apart(text);
    return word.is_flag && find_flag(table_, word.name, negated) != nullptr;
  }

  std::vector<std::string> spellings() const {
    std::vector<std::string> out;
    for (const Flag& flag : table_)
      if (!flag.hidden()) out.push_back("--" + flag.name);
    return out;
  }

  static std::string hint_for(const Flag& flag) {
    return "--" + flag.name + "=" + flag.value + ": " + flag.description();
  }

  void fill_flags_from_operands() {
    std::vector<std::string>& words = out_.operands_;
    for (const Flag& flag : table_) {
      if (words.empty()) return;
      if (!flag.operand || out_.given_.contains(flag.name)) continue;
      if (flag.accepts && !flag.accepts(words.front())) continue;
      out_.given_[flag.name].push_back(checked_value(flag, words.front()));
      words.erase(words.begin());
    }
  }

  void check_operands() const {
    for (const Flag& flag : table_)
      if (flag.required && !out_.given_.contains(flag.name) && !out_.given_.contains(flag.unless))
        throw usage_error("--" + flag.name + "=" + flag.value + " is required", flag.description());
    const int count = int(out_.operands_.size());
    if (count < expected_.least) throw usage_error(expected_.name + " is required", expected_.help);
    if (count > expected_.most)
      throw usage_error("unexpected argument '" + out_.operands_[size_t(expected_.most)] + "'",
                        "values of flags follow '=' or one space; quote names with spaces");
  }

  const std::vector<Flag>& table_;
  const Operands& expected_;
  Arguments out_;
};

std::string Flag::description() const { return note.empty() || help.empty() ? help + note : help + "; " + note; }

Flag with_note(Flag flag, std::string note) {
  flag.note = std::move(note);
  return flag;
}

Flag required(Flag flag) {
  flag.required = true;
  return flag;
}

std::vector<Flag> advanced(std::vector<Flag> flags) {
  for (Flag& flag : flags)
    if (flag.rank == FlagRank::kCommon) flag.rank = FlagRank::kAdvanced;
  return flags;
}

std::vector<Flag> in_group(const std::string& group, std::vector<Flag> flags) {
  for (Flag& flag : flags) flag.group = group;
  return flags;
}

std::vector<Flag> joined(std::vector<std::vector<Flag>> lists) {
  std::vector<Flag> out;
  for (std::vector<Flag>& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

void Arguments::add(const std::map<std::string, std::vector<std::string>>& given) {
  std::vector<Flag> table;
  for (const auto& [name, flag] : flags_) table.push_back(flag);
  for (const auto& [name, values] : given) {
    const Flag* flag = flag_named(table, name);
    if (!flag) continue;
    if (values.empty()) throw usage_error("--" + name + " has no value");
    std::vector<std::string> checked;
    for (const std::string& value : values) checked.push_back(checked_value(*flag, value));
    given_.try_emplace(flag->name, std::move(checked));
  }
}

void Arguments::set(const std::string& name, const std::string& value) {
  given_[name] = {checked_value(flag(name, kind(name)), value)};
}

const Flag& Arguments::flag(const std::string& name, FlagKind kind) const {
  const auto found = flags_.find(name);
  if (found == flags_.end() || found->second.kind != kind) throw_internal("flag --" + name);
  return found->second;
}

bool Arguments::has(const std::string& name) const {
  if (!flags_.contains(name)) throw_internal("flag --" + name);
  return given_.contains(name);
}

bool Arguments::on(const std::string& name) const {
  flag(name, FlagKind::kSwitch);
  const auto found = given_.find(name);
  return found != given_.end() && found->second.back() == "true";
}

std::string Arguments::text(const std::string& name) const {
  const Flag& known = flag(name, FlagKind::kText);
  const auto found = given_.find(name);
  return found == given_.end() ? known.fallback : found->second.back();
}

std::vector<std::string> Arguments::each(const std::string& name) const {
  const Flag& known = flag(name, FlagKind::kText);
  const auto found = given_.find(name);
  if (found != given_.end()) return found->second;
  return known.fallback.empty() ? std::vector<std::string>{} : std::vector<std::string>{known.fallback};
}

std::vector<std::string> Arguments::texts(const std::string& name) const {
  std::vector<std::string> out;
  for (const std::string& text : each(name))
    for (const std::string& part : split(text, ','))
      if (!part.empty()) out.push_back(part);
  return out;
}

int64_t Arguments::integer(const std::string& name) const {
  const Flag& known = flag(name, FlagKind::kInteger);
  const auto found = given_.find(name);
  int64_t value = 0;
  parse_whole(found == given_.end() ? known.fallback : found->second.back(), value);
  return value;
}

double Arguments::number(const std::string& name) const {
  const Flag& known = flag(name, FlagKind::kNumber);
  const auto found = given_.find(name);
  double value = 0;
  parse_whole(found == given_.end() ? known.fallback : found->second.back(), value);
  return value;
}

Arguments parse_flags(const std::vector<Flag>& flags, const Operands& operands, const std::vector<std::string>& words) {
  return FlagParser(flags, operands).parse(words);
}

size_t first_operand(const std::vector<Flag>& flags, const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const Word word = take_apart(words[i]);
    if (!word.is_flag) return i;
    bool negated = false;
    const Flag* flag = find_flag(flags, word.name, negated);
    if (!flag || !flag->takes_value() || word.has_value) continue;
    if (i + 1 < words.size() && is_value_of(*flag, words[i + 1])) ++i;
  }
  return words.size();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    out.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

Error usage_error(std::string message, std::string hint) {
  return Error(ExitCode::kUsage, std::move(message), std::move(hint));
}

Flag decode_flag() {
  return {.name = "decode",
          .kind = FlagKind::kText,
          .value = "WHERE",
          .help = "where JPEGs are decoded when the net runs on a GPU; the last bits of nvJPEG's pixels differ",
          .fallback = "cpu",
          .choices = {"cpu", "auto", "gpu"}};
}

void choose_decoder(const Arguments& arguments, Context& context) {
  const std::string where = arguments.text("decode");
  if (where == "gpu" && context.device.is_cpu())
    throw usage_error("--decode=gpu: the net runs on the CPU", "add --gpu=0, or use --decode=auto");
  context.handle<data::JpegDecoding>().wanted = where == "gpu"    ? data::DecodeOn::kGpu
                                                : where == "auto" ? data::DecodeOn::kAuto
                                                                  : data::DecodeOn::kCpu;
}

Flag skip_bad_flag() {
  return {.name = "skip-bad",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "skip up to N records or images that cannot be used, and name them; without a number, any",
          .fallback = "0",
          .implied = "1000000000",
          .least = 0,
          .most = 1000000000};
}

int64_t skip_bad_of(const Arguments& arguments) { return arguments.integer("skip-bad"); }

}  // namespace cortado::tools
