// `cortado studio`: its flags. The studio is a program of its own, cortado-studio, as the server is.
#include "tools/program/command.h"
#include "tools/program/companion.h"

namespace cortado::tools {

namespace {

int become_studio(const Arguments& arguments) {
  return become_companion(
      "cortado-studio", "scripts/install_deps.sh build, then cmake --preset release && cmake --build build", arguments);
}

}  // namespace

Command studio_command() {
  return {
      .name = "studio",
      .summary = "trains and tries nets in the browser",
      .flags = {{.name = "folder",
                 .kind = FlagKind::kText,
                 .value = "FOLDER",
                 .help = "where images, datasets, nets and runs are; nothing outside of it is shown or written",
                 .fallback = ".",
                 .operand = true},
                {.name = "port",
                 .kind = FlagKind::kInteger,
                 .value = "N",
                 .help = "of this machine that browsers ask; 0 takes a free one",
                 .fallback = "8090",
                 .least = 0,
                 .most = 65535},
                {.name = "token",
                 .kind = FlagKind::kText,
                 .value = "TOKEN",
                 .help = "that requests have to know, for scripts; unless given, a new one is drawn and printed"},
                {.name = "max-body",
                 .kind = FlagKind::kInteger,
                 .value = "MIB",
                 .help = "the most MiB of one request, as an image that is tried",
                 .fallback = "32",
                 .least = 1,
                 .most = 1024}},
      .operands = {},
      .examples = {{"cortado studio", "prints the address to open in a browser of this machine"},
                   {"cortado studio photos --port=0", "another folder, and whichever port is free"},
                   {"ssh -L 8090:127.0.0.1:8090 gpu-machine cortado studio work",
                    "a studio on another machine, in this one's browser"}},
      .run = become_studio,
      .about =
          "Makes datasets of folders of images, shows what augmentation does to them, edits and draws nets, starts, "
          "watches, stops and resumes trainings, and tries images on what was learned. Trainings are processes of "
          "their own, which go on when the studio ends. It listens on 127.0.0.1 alone. docs/studio.md tells the "
          "rest."};
}

}  // namespace cortado::tools
