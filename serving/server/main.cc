// cortado-serve: the program that `cortado serve` executes, with the same flags.

#include "server/server.h"
#include "tools/program/program.h"

namespace cortado::server {

namespace {

int run_words(const std::string&, const std::vector<std::string>& words) {
  tools::Command command = tools::serve_command();
  command.run = run_server;
  return tools::run_command(command, words);
}

}  // namespace

}  // namespace cortado::server

int main(int argc, char** argv) { return cortado::tools::program_main(argc, argv, cortado::server::run_words); }
