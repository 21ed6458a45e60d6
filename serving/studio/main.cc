// cortado-studio: the program that `cortado studio` executes, with the same flags; and its subcommands `look` and
// `records`, which it runs as children.

#include "studio/look/look.h"
#include "studio/records/records.h"
#include "studio/studio.h"
#include "tools/program/program.h"

namespace cortado::studio {

namespace {

int run_words(const std::string&, const std::vector<std::string>& words) {
  for (const tools::Command& child : {look_command(), records_command()})
    if (!words.empty() && words[0] == child.name)
      return tools::run_command(child, std::vector<std::string>(words.begin() + 1, words.end()));
  tools::Command command = tools::studio_command();
  command.run = run_studio;
  return tools::run_command(command, words);
}

}  // namespace

}  // namespace cortado::studio

int main(int argc, char** argv) { return cortado::tools::program_main(argc, argv, cortado::studio::run_words); }
