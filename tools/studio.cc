// `cortado studio`: its flags. Like the server, the studio is a separate program, cortado-studio.
#include "tools/options/run_options.h"
#include "tools/program/command.h"
#include "tools/program/companion.h"

namespace cortado::tools {

namespace {

int start_studio(const Arguments& arguments) {
  return exec_companion("cortado-studio",
                        "scripts/install_deps.sh build, then cmake --preset release && cmake --build build", arguments);
}

}  // namespace

Command studio_command() {
  return {.name = "studio",
          .summary = "Train and try nets in the browser",
          .flags = {{.name = "folder",
                     .kind = FlagKind::kText,
                     .value = "FOLDER",
                     .help = "folder with images, datasets, nets and runs; nothing outside it is shown or written",
                     .fallback = ".",
                     .operand = true},
                    port_flag("8090"),
                    {.name = "token-file",
                     .kind = FlagKind::kText,
                     .value = "FILE",
                     .help = "file with a token that requests must send: 'Authorization: Bearer TOKEN'"},
                    {.name = "token",
                     .kind = FlagKind::kText,
                     .value = "TOKEN",
                     .help = "the token itself, which all users of this machine can see in the list of processes",
                     .rank = FlagRank::kAdvanced},
                    max_body_flag("32")},
          .examples = {{"cortado studio", "print the address to open in a browser on this machine"},
                       {"cortado studio photos --port=0", "another folder, on any free port"},
                       {"ssh -L 8090:127.0.0.1:8090 gpu-machine cortado studio work",
                        "a studio on another machine, in a browser on this one"}},
          .run = start_studio,
          .about =
              "Makes datasets from folders of images, shows their augmentation, edits and draws nets, starts, watches, "
              "stops and resumes trainings, and tries images on the result. Trainings are processes of their own and "
              "continue when the studio ends. It listens on 127.0.0.1 only. docs/studio.md has more."};
}

}  // namespace cortado::tools
