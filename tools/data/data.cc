// `cortado data`: inspects datasets, derives datasets from others, and runs a net's data layer alone.
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

/// The only layer of the net that reads records in `state`, or the one named `name`.
const caffe::LayerParameter& data_layer(const NetFile& file, const caffe::NetState& state, const std::string& name) {
  const caffe::LayerParameter* found = nullptr;
  for (const caffe::LayerParameter& layer : file.net.layer()) {
    if (!reads_records(layer.type()) || !graph::selected(layer, state)) continue;
    if (!name.empty() && layer.name() != name) continue;
    if (found)
      throw usage_error("the net has several data layers: '" + found->name() + "', '" + layer.name() + "'",
                        "choose one with --data-layer=NAME");
    found = &layer;
  }
  if (found) return *found;
  throw usage_error("the net has no layer that reads records" + (name.empty() ? "" : " named '" + name + "'") +
                    " in phase " + caffe::Phase_Name(state.phase()));
}

constexpr int kMany = 100000;

Flag output_of(const std::string& value, const std::string& note) { return required(output_flag(value, note)); }

/// For commands that run a net's data layer.
std::vector<Flag> net_flags(std::vector<Flag> own) {
  return joined({{with_note(model_flag(), "its data layer is used"),
                  phase_flag("TRAIN"),
                  {.name = "data-layer",
                   .kind = FlagKind::kText,
                   .value = "NAME",
                   .help = "which data layer, where there are several",
                   .former = {"layer"}},
                  batch_flag(),
                  set_flag(),
                  data_threads_flag()},
                 std::move(own),
                 state_flags(),
                 device_flags()});
}

std::vector<Flag> sheet_flags() {
  return net_flags({output_of("FILE", "a .png or .jpg file"),
                    {.name = "count",
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
                    {.name = "at-epoch",
                     .kind = FlagKind::kInteger,
                     .value = "N",
                     .help = "which pass over the dataset, from 0; each has its own random numbers",
                     .fallback = "0",
                     .former = {"epoch"},
                     .least = 0,
                     .most = 1000000000},
                    labels_flag(),
                    force_flag()});
}

Flag seed_of_order() {
  Flag seed = with_note(seed_flag(), "for the order");
  seed.fallback = "1";
  return seed;
}

Flag split_of_records() {
  Flag split = split_flag();
  split.fallback = "0.2";
  return split;
}

std::vector<Command> data_commands() {
  return {
      {.name = "data stats",
       .summary = "Show sizes, classes, mean, deviation and duplicates of datasets",
       .flags = {json_flag(), progress_flag()},
       .operands = {"LMDB...", "datasets; every record is read", 1, kMany},
       .examples = {{"cortado data stats train_lmdb", "also what cannot be decoded"},
                    {"cortado data stats train_lmdb test_lmdb", "also images of the first set in the second"}},
       .run = run_data_stats},
      {.name = "data verify",
       .summary = "Check that every record of datasets can be used",
       .flags = {},
       .operands = {"LMDB...", "datasets; every record is read", 1, kMany},
       .examples = {{"cortado data verify train_lmdb test_lmdb", "exit code 4 if a record is bad"}},
       .run = run_data_verify},
      {.name = "data cat",
       .summary = "Show a record, or write its image to a file",
       .flags = {output_flag("FILE", "the record's image"), force_flag(), json_flag()},
       .operands = {"LMDB KEY", "a dataset and a record's key, or the name in it", 2, 2},
       .examples = {{"cortado data cat train_lmdb daisy/0007.jpg -o 0007.jpg", "a record, and its image as a file"}},
       .run = run_data_cat},
      {.name = "data merge",
       .summary = "Merge datasets into one",
       .flags = {output_of("LMDB", "the dataset's folder"), force_flag()},
       .operands = {"LMDB LMDB...", "two or more datasets", 2, kMany},
       .examples = {{"cortado data merge a_lmdb b_lmdb -o both_lmdb", "classes of one name become one"}},
       .run = run_data_merge},
      {.name = "data split",
       .summary = "Split a dataset into a training and a test set",
       .flags = {output_of("FOLDER", "a folder for both"), split_of_records(), seed_of_order(), force_flag()},
       .operands = {"LMDB", "a dataset", 1, 1},
       .examples = {{"cortado data split all_lmdb -o sets --split=0.2",
                     "sets/train_lmdb, sets/test_lmdb, sets/labels.txt"}},
       .run = run_data_split},
      {.name = "data shuffle",
       .summary = "Write a dataset in random order",
       .flags = {output_of("LMDB", "the dataset's folder"), seed_of_order(), force_flag()},
       .operands = {"LMDB", "a dataset", 1, 1},
       .examples = {{"cortado data shuffle sorted_lmdb -o mixed_lmdb", "for datasets sorted by class"}},
       .run = run_data_shuffle},
      {.name = "data export",
       .summary = "Write a dataset's images as files, a folder for each class",
       .flags = {output_of("FOLDER", "a new or empty folder")},
       .operands = {"LMDB", "a dataset", 1, 1},
       .examples = {{"cortado data export train_lmdb -o photos", "photos/CLASS/NAME.jpg"}},
       .run = run_data_export},
      {.name = "data bench",
       .summary = "Measure how fast a net's data layer reads",
       .flags = net_flags({{.name = "seconds",
                            .kind = FlagKind::kNumber,
                            .value = "S",
                            .help = "how long to measure",
                            .fallback = "4"},
                           decode_flag(),
                           skip_bad_flag(),
                           json_flag()}),
       .examples = {{"cortado data bench train_val.prototxt --data-threads=2", "images per second by two threads"}},
       .run = run_data_bench},
      {.name = "data sheet",
       .summary = "Draw a contact sheet of what a net's data layer reads",
       .flags = sheet_flags(),
       .examples = {{"cortado data sheet train_val.prototxt -o sheet.png --at-epoch=3 --labels=names.txt",
                     "64 images as the fourth epoch of training sees them, with their classes"}},
       .run = run_data_sheet,
       .about = "Samples are those of a training: the same records with the same random numbers. Mean and scale are "
                "undone, so that images look natural."}};
}

}  // namespace

data::PipelineOptions pipeline_options_of(const Arguments& arguments) {
  const std::shared_ptr<const NetFile> file =
      with_batch(open_net(arguments.text("model"), overrides_of(arguments)), arguments.integer("batch"));
  const caffe::NetState state = graph::merge_states(file->net.state(), state_of(arguments, phase_of(arguments)));
  data::DataOptions options;
  options.phase = state.phase();
  options.data_threads = data_threads_of(arguments);
  return make_pipeline_options(data_layer(*file, state, arguments.text("data-layer")), options);
}

Command data_command() {
  return {.name = "data",
          .summary = "Inspect, merge, split, shuffle and export datasets",
          .examples = {{"cortado data stats train_lmdb", "sizes, classes, mean, deviation, duplicates"},
                       {"cortado data sheet train_val.prototxt -o sheet.png", "what the data layer reads"}},
          .subcommands = data_commands()};
}

}  // namespace cortado::tools
