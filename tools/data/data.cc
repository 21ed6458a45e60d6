// `cortado data`: datasets by themselves, and a net's data layer without the net.
#include "core/error.h"
#include "core/text/text.h"
#include "graph/graph.h"
#include "layers/common/data/data_layer.h"
#include "layers/registry.h"
#include "proto/text/positions.h"
#include "tools/data/data_command.h"
#include "tools/options/flags.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

/// The net's layers that read records and take part, or the one called `name`.
const caffe::LayerParameter& data_layer(const NetFile& file, const caffe::NetState& state, const std::string& name) {
  const caffe::LayerParameter* found = nullptr;
  for (const caffe::LayerParameter& layer : file.net.layer()) {
    if (!reads_records(layer.type()) || !graph::selected(layer, state)) continue;
    if (!name.empty() && layer.name() != name) continue;
    if (found)
      throw usage_error("the net has several data layers: '" + found->name() + "', '" + layer.name() + "'",
                        "--layer=NAME chooses one");
    found = &layer;
  }
  if (found) return *found;
  throw usage_error("the net has no layer that reads records" + (name.empty() ? "" : " called '" + name + "'") +
                    " in phase " + caffe::Phase_Name(state.phase()));
}

/// What to do, and with how many operands.
struct Action {
  const char *name, *inputs;
  size_t least, most;
  int (*run)(const Arguments& arguments);
};

constexpr size_t kMany = 100000;
constexpr Action kActions[] = {{"stats", "LMDB...", 1, kMany, run_data_stats},
                               {"verify", "LMDB...", 1, kMany, run_data_verify},
                               {"cat", "LMDB KEY", 2, 2, run_data_cat},
                               {"merge", "LMDB LMDB... -o LMDB", 2, kMany, run_data_merge},
                               {"split", "LMDB -o FOLDER", 1, 1, run_data_split},
                               {"shuffle", "LMDB -o LMDB", 1, 1, run_data_shuffle},
                               {"export", "LMDB -o FOLDER", 1, 1, run_data_export},
                               {"bench", "NET", 1, 1, run_data_bench},
                               {"sheet", "NET -o FILE", 1, 1, run_data_sheet}};

int run_data(const Arguments& arguments) {
  const std::string name = arguments.operands()[0];
  const size_t inputs = arguments.operands().size() - 1;
  std::vector<std::string> names;
  for (const Action& action : kActions) {
    if (name == action.name) {
      if (inputs >= action.least && inputs <= action.most) return action.run(arguments);
      throw usage_error("data " + name + " takes " + action.inputs);
    }
    names.push_back(action.name);
  }
  throw usage_error("'" + name + "' is no action of data: " + list_text(names), did_you_mean(name, names));
}

std::vector<Flag> sheet_flags() {
  return {{.name = "count",
           .kind = FlagKind::kInteger,
           .value = "N",
           .help = "how many images",
           .fallback = "64",
           .least = 1,
           .most = 10000},
          {.name = "columns",
           .kind = FlagKind::kInteger,
           .value = "N",
           .help = "images in a row; 0 chooses",
           .fallback = "0",
           .least = 0,
           .most = 10000},
          {.name = "epoch",
           .kind = FlagKind::kInteger,
           .value = "N",
           .help = "which pass over the dataset, from 0; each draws its own random numbers",
           .fallback = "0",
           .least = 0,
           .most = 1000000000},
          {.name = "labels", .kind = FlagKind::kText, .value = "FILE", .help = "class names, one a line"}};
}

std::vector<Flag> flags() {
  const Flag layer{.name = "layer", .kind = FlagKind::kText, .value = "NAME", .help = "which data layer, of several"};
  const Flag seconds{
      .name = "seconds", .kind = FlagKind::kNumber, .value = "S", .help = "how long to measure", .fallback = "4"};
  const Flag output{.name = "output",
                    .kind = FlagKind::kText,
                    .value = "OUT",
                    .help = "what to write: the dataset or folder to make; sheet, cat: an image file",
                    .letter = 'o'};
  const Flag split{.name = "split",
                   .kind = FlagKind::kNumber,
                   .value = "SHARE",
                   .help = "this share of each class goes to the test set",
                   .fallback = "0.2"};
  const Flag seed{.name = "seed",
                  .kind = FlagKind::kInteger,
                  .value = "N",
                  .help = "of the choice and of the order",
                  .fallback = "1",
                  .least = 0};
  const std::vector<std::string> of_nets = {"bench", "sheet"};
  return joined({for_kinds(of_nets, {phase_flag("TRAIN"), layer, batch_flag()}), for_kinds({"bench"}, {seconds}),
                 for_kinds({"cat", "merge", "split", "shuffle", "export", "sheet"}, {output}),
                 for_kinds({"cat", "merge", "split", "shuffle", "sheet"}, {force_flag()}),
                 for_kinds({"split"}, {split}), for_kinds({"split", "shuffle"}, {seed}),
                 for_kinds({"sheet"}, sheet_flags()), for_kinds({"stats", "cat", "bench"}, {json_flag()}),
                 for_kinds(of_nets, {set_flag(), data_threads_flag()}),
                 for_kinds({"bench"}, {decode_flag(), skip_bad_flag()}), for_kinds(of_nets, state_flags()),
                 for_kinds(of_nets, device_flags())});
}

std::vector<std::string> kinds_of_data() {
  std::vector<std::string> kinds;
  for (const Action& action : kActions) kinds.push_back(action.name);
  return kinds;
}

}  // namespace

data::PipelineOptions pipeline_options_of(const Arguments& arguments) {
  const std::shared_ptr<const NetFile> file =
      with_batch(open_net(arguments.operands()[1], overrides_of(arguments)), arguments.integer("batch"));
  const caffe::NetState state = graph::merge_states(file->net.state(), state_of(arguments, phase_of(arguments)));
  data::DataOptions options;
  options.phase = state.phase();
  options.data_threads = data_threads_of(arguments);
  return make_pipeline_options(data_layer(*file, state, arguments.text("layer")), options);
}

Command data_command() {
  return {
      .name = "data",
      .summary = "looks into datasets, makes datasets of datasets, shows what a data layer gives",
      .flags = flags(),
      .operands =
          {"ACTION INPUT...",
           "stats LMDB... and verify LMDB... look at all records; cat LMDB KEY shows one; merge LMDB... -o LMDB, "
           "split LMDB -o FOLDER, shuffle LMDB -o LMDB and export LMDB -o FOLDER write others; bench NET "
           "measures how fast batches come, sheet NET draws a contact sheet",
           1, 100000, kinds_of_data()},
      .examples = {{"cortado data stats train_lmdb",
                    "sizes, classes, mean, deviation, doubles, what cannot be decoded"},
                   {"cortado data verify train_lmdb test_lmdb", "whether every record can be used; exit code 4 if not"},
                   {"cortado data cat train_lmdb daisy/0007.jpg -o 0007.jpg", "one record, and its image as a file"},
                   {"cortado data merge a_lmdb b_lmdb -o both_lmdb", "classes of one name become one"},
                   {"cortado data split all_lmdb -o sets --split=0.2",
                    "sets/train_lmdb, sets/test_lmdb, sets/labels.txt"},
                   {"cortado data shuffle sorted_lmdb -o mixed_lmdb", "another order, once and for all"},
                   {"cortado data export train_lmdb -o photos", "image files again, a folder for each class"},
                   {"cortado data bench train_val.prototxt --data-threads=2",
                    "images per second when nothing else is done with them"},
                   {"cortado data sheet train_val.prototxt -o sheet.png --epoch=3 --labels=names.txt",
                    "64 images as the fourth epoch of training sees them, with their classes"}},
      .run = run_data,
      .about =
          "Samples are read, decoded and transformed as training would: the same records in the same order with the "
          "same random draws. In a sheet what normalising did is undone, so that images look as they are."};
}

}  // namespace cortado::tools
