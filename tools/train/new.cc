// `cortado new`: the files of a training for a dataset of one's own. It asks nothing: what it chose is printed and
// written into the files as comments.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
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

nlohmann::ordered_json project_json(const Project& project) {
  nlohmann::ordered_json json = {{"net", project.net_path()},
                                 {"deploy", project.deploy_path()},
                                 {"solver", project.solver_path()},
                                 {"labels", project.labels_path()},
                                 {"choices", nlohmann::ordered_json::array()}};
  for (const Choice& choice : project.choices)
    json["choices"].push_back({{"what", choice.what}, {"value", choice.value}, {"why", choice.why}});
  return json;
}

/// Seconds that the training will take here, tests apart, by a short one; 0 where even that would take long.
double expected_seconds(const Arguments& arguments, const Project& project) {
  constexpr int64_t kMuch = 200'000'000'000;
  constexpr double kTrial = 1;
  if (project.flops > kMuch) return 0;
  set_log_level(Severity::kWarning);
  CommandContext context(arguments);
  const Speed speed = measure_speed(read_solver(project.solver_path()), {}, kTrial, context);
  return double(project.images) / speed.images_per_second;
}

void show_project(const Arguments& arguments, const Project& project) {
  std::cout << project.data_line << "\n";
  Table table({"chosen", "value", "why"});
  for (const Choice& choice : project.choices) table.add({choice.what, choice.value, choice.why});
  std::cout << table.str() << "wrote " << project.net_path() << ", " << project.deploy_path() << ", "
            << project.solver_path() << ", " << project.labels_path() << "\n";
  if (const double seconds = expected_seconds(arguments, project); seconds > 0)
    std::cout << "the training will take about " << duration_text(seconds)
              << " here, tests apart; --epochs makes it shorter\n";
  std::cout << "next: cortado train " << project.solver_path() << "; with --run=FOLDER a report comes with it\n";
}

int run_new(const Arguments& arguments) {
  const std::string kind = arguments.operands()[0];
  const bool detects = kind == "detector";
  if (!detects && kind != "classifier")
    throw usage_error("'" + kind + "' is nothing that new makes: classifier or detector",
                      did_you_mean(kind, {"classifier", "detector"}));
  ProjectOptions options{.data = arguments.text("data"),
                         .from = arguments.text("from"),
                         .weights = arguments.text("weights"),
                         .output = arguments.text("output"),
                         .side = int(arguments.integer("size")),
                         .batch = arguments.integer("batch"),
                         .epochs = arguments.integer("epochs")};
  if (!options.weights.empty() && options.from.empty())
    throw usage_error("--weights needs --from: the net that they are of",
                      "--from=resnet18 --weights=resnet18.caffemodel");
  if (!options.weights.empty() && !file_exists(options.weights))
    throw file_error(ExitCode::kIo, options.weights, "there is no such file");
  const Project project = detects ? make_detector(options) : make_classifier(options);
  write_project(project, arguments.on("force"));
  if (arguments.on("json"))
    std::cout << dumped_json(project_json(project), 2) << "\n";
  else
    show_project(arguments, project);
  return 0;
}

}  // namespace

Command new_command() {
  return {.name = "new",
          .summary = "writes net and solver for a dataset of one's own",
          .flags = joined(
              {{{.name = "data",
                 .kind = FlagKind::kText,
                 .value = "FOLDER",
                 .help = "a folder with train_lmdb and test_lmdb, as `cortado convert folder --split` makes it",
                 .required = true},
                {.name = "from",
                 .kind = FlagKind::kText,
                 .value = "NET",
                 .help = "a net of models/ by its name, or the train_val.prototxt of a classifier; without it one is "
                         "chosen by the images' size"},
                {.name = "weights",
                 .kind = FlagKind::kText,
                 .value = "FILE",
                 .help = "learn on from these weights of --from: a new last layer, lower rates before it"},
                {.name = "output",
                 .kind = FlagKind::kText,
                 .value = "FOLDER",
                 .help = "where the files go; snapshots will be in FOLDER/snapshots",
                 .letter = 'o',
                 .required = true},
                {.name = "size",
                 .kind = FlagKind::kInteger,
                 .value = "N",
                 .help = "side of the square that the net sees; 0 chooses. A detector's is that of --from",
                 .fallback = "0",
                 .least = 0,
                 .most = 4096,
                 .kinds = {"classifier"}},
                {.name = "batch",
                 .kind = FlagKind::kInteger,
                 .value = "N",
                 .help = "images of an update; 0 chooses",
                 .fallback = "0",
                 .least = 0,
                 .most = 65536},
                {.name = "epochs",
                 .kind = FlagKind::kInteger,
                 .value = "N",
                 .help = "passes over the training set; 0 chooses",
                 .fallback = "0",
                 .least = 0,
                 .most = 100000},
                force_flag(),
                json_flag()},
               device_flags()}),
          .operands = {"KIND", "classifier, or detector", 1, 1, {"classifier", "detector"}},
          .examples = {{"cortado new classifier --data=flowers -o my",
                        "my/train_val.prototxt, deploy.prototxt, solver.prototxt and labels.txt"},
                       {"cortado new classifier --data=flowers --from=resnet18 -o my", "of a net in models/"},
                       {"cortado new classifier --data=flowers --from=resnet18 --weights=resnet18.caffemodel -o my",
                        "from weights that have learned other images"},
                       {"cortado new detector --data=boxes -o my",
                        "boxes/train_lmdb and boxes/test_lmdb are of `convert annoset`"},
                       {"cortado train my/solver.prototxt --run=my/run",
                        "what comes next: snapshots and a report in my/run"}},
          .run = run_new,
          .about =
              "Nothing is asked: sizes, mean, random changes, batch, rate and length follow from the dataset and the "
              "net's own recipe, are printed, and stand in the files as comments, to be changed there. Paths in the "
              "files begin in the folder that `new` was called from; `train` is called from there, too."};
}

}  // namespace cortado::tools
