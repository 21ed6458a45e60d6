// `cortado new`: writes a net and a solver for a dataset. Prints its choices, and writes them into the files as
// comments.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "core/log.h"
#include "core/text/json.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"
#include "tools/starter/project.h"
#include "tools/starter/starting_net.h"
#include "tools/tuner/trial.h"

namespace cortado::tools {

namespace {

/// `seconds` is the estimated time; 0: unknown.
nlohmann::ordered_json project_json(const Project& project, double seconds) {
  nlohmann::ordered_json json = {{"data", project.data_line},
                                 {"net", project.net_path()},
                                 {"deploy", project.deploy_path()},
                                 {"solver", project.solver_path()},
                                 {"labels", project.labels_path()},
                                 {"seconds", seconds > 0 ? nlohmann::ordered_json(seconds) : nullptr},
                                 {"hint", project.hint},
                                 {"choices", nlohmann::ordered_json::array()}};
  for (const Choice& choice : project.choices)
    json["choices"].push_back({{"what", choice.what}, {"value", choice.value}, {"why", choice.why}});
  return json;
}

/// Estimates the seconds of the training on this machine, without tests, by a short trial. Returns 0 if even the trial
/// would take long.
double expected_seconds(const Arguments& arguments, const Project& project) {
  constexpr int64_t kMuch = 200'000'000'000;
  constexpr double kTrial = 1;
  if (project.flops > kMuch) return 0;
  set_log_level(Severity::kError);  // the training repeats the warnings
  CommandContext context(arguments);
  const Speed speed = measure_speed(read_solver(project.solver_path()), {}, kTrial, context, project.images);
  return double(project.images) / speed.images_per_second;
}

void show_project(const Project& project) {
  std::cout << project.data_line << "\n";
  Table table({"chosen", "value", "why"});
  for (const Choice& choice : project.choices) table.add({choice.what, choice.value, choice.why});
  std::cout << table.str() << "wrote " << project.net_path() << ", " << project.deploy_path() << ", "
            << project.solver_path() << ", " << project.labels_path() << "\n";
}

void show_next(const Project& project, double seconds) {
  if (seconds > 0)
    std::cout << "the training will take about " << duration_text(seconds)
              << " here, without tests; shorten it with --epochs\n";
  if (!project.hint.empty()) std::cout << "hint: " << project.hint << "\n";
  std::cout << "next: cortado train " << project.solver_path() << "; add --run=FOLDER for a report\n";
}

int make_new(const Arguments& arguments, Project (*make)(const ProjectOptions& options)) {
  ProjectOptions options{.data = arguments.text("data"),
                         .from = arguments.text("from"),
                         .weights = arguments.text("weights"),
                         .output = arguments.text("output"),
                         .side = arguments.knows("size") ? int(arguments.integer("size")) : 0,
                         .batch = arguments.integer("batch"),
                         .epochs = arguments.integer("epochs"),
                         .scratch = arguments.knows("scratch") && arguments.on("scratch"),
                         .trunk = trunk_named(arguments.knows("trunk") ? arguments.text("trunk") : "")};
  if (!options.weights.empty() && options.scratch) throw usage_error("--weights and --scratch exclude each other");
  if (!options.weights.empty() && options.from.empty())
    throw usage_error("--weights requires --from", "name the net of the weights: --from=resnet18");
  if (!options.weights.empty() && !file_exists(options.weights))
    throw file_error(ExitCode::kIo, options.weights, "the file does not exist");
  std::error_code failure;
  const MadeFolders folder(options.output, failure);  // paths in the net begin there
  if (failure) throw file_error(ExitCode::kIo, options.output, "cannot create the folder: " + failure.message());
  const Project project = make(options);
  write_project(project, arguments.on("force"));
  const bool is_json = arguments.on("json");
  if (!is_json) show_project(project);
  const double seconds = expected_seconds(arguments, project);
  if (is_json)
    std::cout << dumped_json(project_json(project, seconds), 2) << "\n";
  else
    show_next(project, seconds);
  return 0;
}

Flag number_flag(const std::string& name, const std::string& help, int64_t most) {
  return {
      .name = name, .kind = FlagKind::kInteger, .value = "N", .help = help, .fallback = "0", .least = 0, .most = most};
}

std::vector<Flag> new_flags(std::vector<Flag> own) {
  Flag weights = with_note(weights_flag(), "of the net of --from: fine-tunes them with a new last layer");
  weights.operand = false;
  return joined({{{.name = "data",
                   .kind = FlagKind::kText,
                   .value = "FOLDER",
                   .help = "folder with train_lmdb and test_lmdb, as `cortado convert folder --split` writes it",
                   .required = true},
                  required(output_flag("FOLDER", "net, solver and labels; snapshots will be in FOLDER/snapshots")),
                  {.name = "from",
                   .kind = FlagKind::kText,
                   .value = "NET",
                   .help = "net to start from: a name in models/, or a train_val.prototxt; by default the images' size "
                           "decides"},
                  weights,
                  batch_flag(),
                  number_flag("epochs", "epochs of the training; 0 chooses", 100000)},
                 std::move(own),
                 {force_flag(), json_flag()},
                 device_flags()});
}

constexpr const char* kAboutNew =
    "Sizes, mean, augmentation, batch, rate and length follow from the dataset and the net's own recipe. They are "
    "printed and explained in the files as comments. Paths in the files are relative to their folder "
    "(relative_to_file), so a project can be copied or moved together with its data, and `cortado train` works in any "
    "folder.";

}  // namespace

Command new_command() {
  return {
      .name = "new",
      .summary = "Write a net and a solver for your own dataset",
      .examples = {{"cortado new classifier --data=flowers -o my", "files for training, in my/"},
                   {"cortado train my/solver.prototxt --run=my/run", "what comes next"}},
      .about = kAboutNew,
      .subcommands = {
          {.name = "new classifier",
           .summary = "Write a net that classifies images",
           .flags = new_flags(
               {number_flag("size", "side of the net's input; 0 chooses", 4096),
                {.name = "trunk",
                 .kind = FlagKind::kText,
                 .value = "HOW",
                 .help = "how the layers before the last learn when a net is fine-tuned: not at all, or "
                         "at a tenth of its rate; auto: frozen for up to 2,000 images",
                 .fallback = "auto",
                 .choices = {"auto", "frozen", "slow"}},
                {.name = "scratch", .help = "start from random weights, even where models/ has trained ones"}}),
           .examples = {{"cortado new classifier --data=flowers -o my",
                         "my/train_val.prototxt, deploy.prototxt, solver.prototxt and labels.txt"},
                        {"cortado new classifier --data=flowers --from=resnet18 -o my", "with a net in models/"},
                        {"cortado new classifier --data=flowers --from=efficientnet_lite0 -o my",
                         "fine-tune ImageNet's weights, which scripts/fetch_backbone.sh fetches: for few images"},
                        {"cortado new classifier --data=flowers --from=resnet18 --weights=resnet18.caffemodel -o my",
                         "fine-tune trained weights"}},
           .run = [](const Arguments& arguments) { return make_new(arguments, make_classifier); },
           .about = kAboutNew},
          {.name = "new detector",
           .summary = "Write a net that finds objects in images",
           .flags = new_flags({}),
           .examples = {{"cortado new detector --data=boxes -o my",
                         "boxes/train_lmdb and boxes/test_lmdb come from `cortado convert annoset`"}},
           .run = [](const Arguments& arguments) { return make_new(arguments, make_detector); },
           .about = kAboutNew}}};
}

}  // namespace cortado::tools
