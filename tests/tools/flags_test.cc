// The tables of flags: commands refuse the flags of others, and a name has the same meaning in all commands.
#include "tools/options/flags.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text/text.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"
#include "tools/program/help.h"

namespace cortado::tools::testing {

namespace {

/// A value that the flag accepts.
std::string value_for(const Flag& flag) {
  if (!flag.choices.empty()) return flag.choices[0];
  if (flag.kind == FlagKind::kInteger) return std::to_string(std::clamp<int64_t>(1, flag.least, flag.most));
  return flag.kind == FlagKind::kNumber ? "0.5" : "x";
}

std::string word_for(const Flag& flag) { return "--" + flag.name + (flag.takes_value() ? "=" + value_for(flag) : ""); }

/// The flags and operands that the command requires.
std::vector<std::string> required_words(const Command& command) {
  std::vector<std::string> words;
  for (const Flag& flag : command.flags)
    if (flag.required) words.push_back(word_for(flag));
  for (int i = 0; i < command.operands.least; ++i) words.push_back("operand");
  return words;
}

/// The current and deprecated names of its flags.
std::set<std::string> names_of(const Command& command) {
  std::set<std::string> names;
  for (const Flag& flag : flags_of(command)) {
    names.insert(flag.name);
    names.insert(flag.former.begin(), flag.former.end());
  }
  return names;
}

/// The flags of all commands, by name.
std::map<std::string, Flag> all_flags() {
  std::map<std::string, Flag> flags;
  for (const Command* command : runnable_commands())
    for (const Flag& flag : flags_of(*command)) flags.emplace(flag.name, flag);
  return flags;
}

ExitCode code_of(const Command& command, const std::vector<std::string>& words) {
  try {
    parse_flags(flags_of(command), command.operands, words);
    return ExitCode::kOk;
  } catch (const Error& error) {
    return error.code();
  }
}

/// Whether the command reads a net: by --model, or by an operand.
bool reads_nets(const Command& command) {
  const std::string operands = " " + command.operands.name + " " + command.operands.help + " ";
  const bool by_operand =
      std::ranges::any_of(std::vector<std::string>{"NET", " net ", " nets "},
                          [&](const auto& word) { return operands.find(word) != std::string::npos; });
  return by_operand || std::ranges::any_of(command.flags, [](const Flag& flag) { return flag.name == "model"; });
}

/// Commands that read nets but lack a flag, each with the reason.
const std::map<std::string, std::map<std::string, std::string>> kWithout = {
    {"set",
     {{"convert weights", "the net only decides the form of the weights"},
      {"upgrade", "it writes what the file says in today's format"}}},
    {"shape",
     {{"check", "it checks files with the shapes that they say"},
      {"upgrade", "it writes what the file says in today's format"},
      {"convert weights", "the net only decides the form of the weights"},
      {"data bench", "it runs data layers, which have their shapes from the data"},
      {"data sheet", "it runs data layers, which have their shapes from the data"},
      {"features", "it runs the net's own data layers"}}}};

TEST(Flags, EveryCommandThatReadsANetHasSetAndShape) {
  std::set<std::string> seen;
  for (const Command* command : runnable_commands()) {
    if (!reads_nets(*command)) continue;
    for (const auto& [flag, without] : kWithout) {
      const bool has = names_of(*command).contains(flag);
      EXPECT_NE(has, without.contains(command->name)) << command->name << " --" << flag;
      if (!has) seen.insert(flag + " " + command->name);
    }
  }
  for (const auto& [flag, without] : kWithout)
    for (const auto& [name, reason] : without) EXPECT_TRUE(seen.contains(flag + " " + name)) << name << ": " << reason;
}

TEST(Flags, EveryCommandRefusesTheFlagsOfOthers) {
  int refused = 0;
  for (const Command* command : runnable_commands()) {
    const std::vector<std::string> required = required_words(*command);
    ASSERT_EQ(code_of(*command, required), ExitCode::kOk) << command->name;
    for (const Flag& flag : command->flags) {
      std::vector<std::string> words = required;
      words.push_back(word_for(flag));
      EXPECT_EQ(code_of(*command, words), ExitCode::kOk) << command->name << " " << words.back();
    }
    const std::set<std::string> own = names_of(*command);
    for (const auto& [name, flag] : all_flags()) {
      if (own.contains(name)) continue;
      std::vector<std::string> words = required;
      words.push_back(word_for(flag));
      const ExitCode code = code_of(*command, words);
      EXPECT_EQ(code, ExitCode::kUsage) << command->name << " " << words.back();
      refused += code == ExitCode::kUsage;
    }
  }
  EXPECT_GT(refused, 3000);
  std::cout << refused << " pairs of a command and another's flag are refused\n";
}

TEST(Flags, NamesHaveOneMeaning) {
  std::map<std::string, std::pair<Flag, std::set<std::string>>> seen;
  for (const Command* command : runnable_commands())
    for (const Flag& flag : flags_of(*command)) {
      auto& [first, commands] = seen.try_emplace(flag.name, flag, std::set<std::string>()).first->second;
      commands.insert(command->name);
      EXPECT_EQ(flag.kind, first.kind) << command->name << " --" << flag.name;
      EXPECT_EQ(flag.letter, first.letter) << command->name << " --" << flag.name;
      EXPECT_EQ(flag.help, first.help) << command->name << " --" << flag.name;
      EXPECT_EQ(flag.implied, first.implied) << command->name << " --" << flag.name;
    }
  Table table({"flag", "meaning", "commands"});
  for (const auto& [name, entry] : seen) {
    const auto& [flag, commands] = entry;
    if (flag.hidden()) continue;
    table.add({spelling(flag), flag.help,
               commands.size() > 6 ? std::to_string(commands.size()) + " commands"
                                   : list_text({commands.begin(), commands.end()})});
  }
  std::cout << table.str();
}

TEST(Flags, LettersAreUniqueInACommand) {
  for (const Command* command : runnable_commands()) {
    std::set<std::string> seen;
    for (const Flag& flag : flags_of(*command)) {
      EXPECT_TRUE(seen.insert(flag.name).second) << command->name << " --" << flag.name;
      if (flag.letter) {
        EXPECT_TRUE(seen.insert(std::string(1, flag.letter)).second) << command->name << " -" << flag.letter;
      }
      for (const std::string& former : flag.former)
        EXPECT_TRUE(seen.insert(former).second) << command->name << " --" << former;
    }
  }
}

TEST(Flags, CommandsWithOutputHaveForce) {
  for (const Command* command : runnable_commands()) {
    const auto has = [&](const std::string& name) {
      return std::ranges::any_of(command->flags, [&](const Flag& flag) { return flag.name == name; });
    };
    if (command->name != "data export") {  // writes to a new folder only
      EXPECT_EQ(has("output"), has("force")) << command->name;
    }
  }
}

TEST(Flags, DeprecatedNamesStillWork) {
  int checked = 0;
  for (const Command* command : runnable_commands())
    for (const Flag& flag : command->flags)
      for (const std::string& former : flag.former) {
        std::vector<std::string> words;
        for (const std::string& word : required_words(*command))
          if (!word.starts_with("--" + flag.name + "=")) words.push_back(word);
        words.push_back("--" + former + "=" + value_for(flag));
        ::testing::internal::CaptureStderr();
        const Arguments arguments = parse_flags(flags_of(*command), command->operands, words);
        const std::string warning = ::testing::internal::GetCapturedStderr();
        EXPECT_TRUE(arguments.has(flag.name)) << command->name << " --" << former;
        EXPECT_NE(warning.find("--" + former + " is deprecated: use --" + flag.name), std::string::npos) << warning;
        ++checked;
      }
  EXPECT_GE(checked, 8);
}

TEST(Flags, OperandsFillFlagsThatAcceptThem) {
  const Command classify = classify_command();
  const Arguments arguments =
      parse_flags(flags_of(classify), classify.operands, {"net.prototxt", "net.caffemodel", "a.jpg", "b.jpg"});
  EXPECT_EQ(arguments.text("model"), "net.prototxt");
  EXPECT_EQ(arguments.text("weights"), "net.caffemodel");
  EXPECT_EQ(arguments.operands(), (std::vector<std::string>{"a.jpg", "b.jpg"}));
  EXPECT_EQ(code_of(classify, {"a.jpg"}), ExitCode::kUsage) << "without a net";
}

TEST(Flags, ImpliedValues) {
  const std::vector<Flag> flags = {skip_bad_flag()};
  const Operands operands = {"FILE...", "", 0, 9};
  EXPECT_EQ(skip_bad_of(parse_flags(flags, operands, {})), 0);
  EXPECT_EQ(skip_bad_of(parse_flags(flags, operands, {"--skip-bad=3"})), 3);
  EXPECT_EQ(skip_bad_of(parse_flags(flags, operands, {"--skip-bad", "3"})), 3);
  const Arguments any = parse_flags(flags, operands, {"--skip-bad", "list.txt"});
  EXPECT_EQ(skip_bad_of(any), 1000000000);
  EXPECT_EQ(any.operands(), std::vector<std::string>{"list.txt"});
}

TEST(Flags, ValuesAreChecked) {
  const auto message = [](const std::string& word) {
    const Command train = train_command();
    try {
      parse_flags(flags_of(train), train.operands, {"--solver=x", word});
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message("--decode=AUTO"), "");
  EXPECT_NE(message("--threads=0").find("must be at least 1"), std::string::npos);
  EXPECT_NE(message("--threads=many").find("not a whole number"), std::string::npos);
  EXPECT_NE(message("--stall-limit=long").find("not a number"), std::string::npos);
  EXPECT_NE(message("--decode=tpu").find("must be one of cpu, auto, gpu"), std::string::npos);
  EXPECT_NE(message("--quiet=maybe").find("must be true or false"), std::string::npos);
}

TEST(Help, Fits80ColumnsAndShowsDefaultsAndValues) {
  std::vector<const Command*> commands = all_commands();
  commands.insert(commands.end(), runnable_commands().begin(), runnable_commands().end());
  for (const Command* command : commands) {
    const std::string full = command_help(*command, HelpLength::kFull),
                      brief = command_help(*command, HelpLength::kShort);
    EXPECT_LE(brief.size(), full.size()) << command->name;
    for (const std::string& text : {full, brief, program_help()})
      for (const std::string& line : split(text, '\n'))
        EXPECT_LE(columns_of(line), 80U) << command->name << ": " << line;
    std::string flat;  // without line breaks and indentation
    for (const std::string& word : split(full, ' '))
      for (const std::string& part : split(word, '\n'))
        if (!part.empty()) flat += part + " ";
    for (const Flag& flag : command->flags) {
      if (flag.hidden()) continue;
      EXPECT_NE(flat.find("--" + flag.name), std::string::npos) << command->name << " --" << flag.name;
      if (!flag.fallback.empty()) {
        EXPECT_NE(flat.find("[default: " + flag.fallback + "]"), std::string::npos)
            << command->name << " " << flag.name;
      }
      if (!flag.choices.empty()) {
        EXPECT_NE(flat.find("[values: " + list_text(flag.choices) + "]"), std::string::npos)
            << command->name << " " << flag.name;
      }
    }
  }
}

TEST(Help, SummariesAreImperative) {
  std::vector<const Command*> commands = all_commands();
  commands.insert(commands.end(), runnable_commands().begin(), runnable_commands().end());
  for (const Command* command : commands) {
    const std::string verb = command->summary.substr(0, command->summary.find(' '));
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(verb[0])) && !verb.ends_with("s")) << command->summary;
    EXPECT_FALSE(command->summary.ends_with(".")) << command->summary;
    EXPECT_FALSE(command->examples.empty() && command->subcommands.empty()) << command->name;
  }
}

TEST(Tables, AreCutByColumns) {
  Table table({"layer", "values", "more"});
  table.add({"a_rather_long_name_of_a_layer", "12", "x"});
  table.add({"\u00e4\u00f6", "3", "y"});
  for (const size_t columns : {20U, 30U, 36U})
    for (const std::string& line : split(table.str({1}, columns, {2}), '\n'))
      if (!line.starts_with("(cut")) {
        EXPECT_LE(columns_of(line), columns) << line;
      }
  EXPECT_EQ(table.str({1}).find("--wide"), std::string::npos);
  EXPECT_NE(table.str({1}, 20, {2}).find("--wide"), std::string::npos);
  EXPECT_EQ(table.str({1}, 20, {2}).find("more"), std::string::npos) << "this column is dropped first";
}

}  // namespace

}  // namespace cortado::tools::testing
