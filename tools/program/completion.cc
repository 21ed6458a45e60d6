// The script that completes command lines in bash and zsh.
#include "core/text/text.h"
#include "tools/program/help.h"

namespace cortado::tools {

namespace {

std::string command_words() {
  std::vector<std::string> names;
  for (const Command* command : all_commands()) names.push_back(command->name);
  return list_text(names, " ");
}

std::string flag_words(const Command& command) {
  std::vector<std::string> words;
  for (const Flag& flag : flags_of(command))
    if (!flag.hidden() && flag.name.size() > 1)
      words.push_back("--" + flag.name + (flag.takes_value() && flag.implied.empty() ? "=" : ""));
  return list_text(words, " ");
}

std::string reply(const std::string& words) { return "COMPREPLY=($(compgen -W '" + words + "' -- \"$word\"))"; }

std::string subcommand_cases() {
  std::string out;
  for (const Command* command : all_commands()) {
    if (command->subcommands.empty()) continue;
    out += "      " + command->name + ") " + reply(list_text(command->subcommand_names(), " ")) + " ;;\n";
  }
  return out;
}

std::string value_cases() {
  std::string out;
  for (const Command* command : runnable_commands())
    for (const Flag& flag : flags_of(*command))
      if (!flag.hidden() && !flag.choices.empty())
        out += "      '" + command->name + " --" + flag.name + "') " + reply(list_text(flag.choices, " ")) + " ;;\n";
  return out;
}

std::string flag_cases() {
  std::string out;
  for (const Command* command : runnable_commands())
    out += "        '" + command->name + "') " + reply(flag_words(*command)) + " ;;\n";
  return out;
}

/// The commands with subcommands as a pattern of `case`.
std::string parents() {
  std::vector<std::string> names;
  for (const Command* command : all_commands())
    if (!command->subcommands.empty()) names.push_back(command->name);
  return list_text(names, "|");
}

/// bash splits --flag=value into three words.
std::string script() {
  return R"(_cortado() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-} flag=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    )" + reply(command_words()) +
         R"(
    return
  fi
  if [ "$COMP_CWORD" = 2 ] && [ "${word#-}" = "$word" ]; then
    case $command in
)" + subcommand_cases() +
         R"(    esac
    if [ ${#COMPREPLY[@]} -gt 0 ]; then return; fi
  fi
  case $command in
    )" + parents() +
         R"() command="$command ${COMP_WORDS[2]-}" ;;
  esac
  if [ "$word" = = ]; then
    flag=$before word=
  elif [ "$before" = = ]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [ -n "$flag" ]; then
    case "$command $flag" in
)" + value_cases() +
         R"(      *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
    return
  fi
  case $word in
    -*)
      case $command in
)" + flag_cases() +
         R"(      esac
      if [[ ${COMPREPLY-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
      ;;
    *) if [ "$command" = help ]; then )" +
         reply(command_words()) + R"(; else COMPREPLY=($(compgen -f -- "$word")); fi ;;
  esac
}
complete -o filenames -F _cortado cortado
)";
}

}  // namespace

std::string completion_script(const std::string& shell) {
  const bool is_zsh = shell == "zsh";
  const std::string first = is_zsh ? "#compdef cortado\n" : "",  // of a file that zsh autoloads
      how = is_zsh ? "autoload -Uz bashcompinit && bashcompinit\n" : "";
  return first + "# Completes cortado's command lines. " + shell + ": source <(cortado help --completion=" + shell +
         ")\n" + how + script();
}

}  // namespace cortado::tools
