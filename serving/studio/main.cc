// cortado-studio: the program that `cortado studio` executes, with the same flags; and its subcommand `look`, which it
// runs as a child.

#include "studio/look/look.h"
#include "studio/studio.h"
#include "tools/program/program.h"

namespace cortado::studio {

namespace {

int run_words(const std::string&, const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == "look")
    return tools::run_command(look_command(), std::vector<std::string>(words.begin() + 1, words.end()));
  tools::Command command = tools::studio_command();
  command.run = run_studio;
  return tools::run_command(command, words);
}

}  // namespace

}  // namespace cortado::studio

int main(int argc, char** argv) { return cortado::tools::program_main(argc, argv, cortado::studio::run_words); }
