// `cortado data`: a net's Data or ImageData layer alone, without the net.
#include "core/error.h"
#include "graph/graph.h"
#include "proto/positions.h"
#include "tools/command.h"
#include "tools/data_command.h"
#include "tools/decode_flag.h"
#include "tools/net_file.h"
#include "tools/run_options.h"

namespace cortado::tools {

namespace {

/// The net's Data and ImageData layers that take part, or the one called `name`.
const caffe::LayerParameter& data_layer(const NetFile& file, const caffe::NetState& state, const std::string& name) {
  const caffe::LayerParameter* found = nullptr;
  for (const caffe::LayerParameter& layer : file.net.layer()) {
    const bool reads = layer.type() == "Data" || layer.type() == "ImageData" || layer.type() == "AnnotatedData";
    if (!reads || !graph::selected(layer, state)) continue;
    if (!name.empty() && layer.name() != name) continue;
    if (found)
      throw usage_error("the net has several data layers: '" + found->name() + "', '" + layer.name() + "'",
                        "--layer=NAME chooses one");
    found = &layer;
  }
  if (found) return *found;
  throw usage_error("the net has no Data, ImageData or AnnotatedData layer" +
                    (name.empty() ? "" : " called '" + name + "'") + " in phase " + caffe::Phase_Name(state.phase()));
}

int run_data(const Arguments& arguments) {
  const std::string action = arguments.operands()[0];
  if (action == "bench") return run_data_bench(arguments);
  if (action == "sheet") return run_data_sheet(arguments);
  throw usage_error("'" + action + "' is no action of data: bench or sheet", did_you_mean(action, {"bench", "sheet"}));
}

std::vector<Flag> flags() {
  return joined(
      {{phase_flag("TRAIN"),
        {.name = "layer", .kind = FlagKind::kText, .value = "NAME", .help = "which data layer, of several"},
        batch_flag(),
        {.name = "seconds",
         .kind = FlagKind::kNumber,
         .value = "S",
         .help = "bench: how long to measure",
         .fallback = "4"},
        {.name = "output", .kind = FlagKind::kText, .value = "FILE", .help = "sheet: the PNG to write", .letter = 'o'},
        {.name = "count",
         .kind = FlagKind::kInteger,
         .value = "N",
         .help = "sheet: how many images",
         .fallback = "64",
         .least = 1,
         .most = 10000},
        {.name = "columns",
         .kind = FlagKind::kInteger,
         .value = "N",
         .help = "sheet: images in a row; 0 chooses",
         .fallback = "0",
         .least = 0,
         .most = 10000},
        {.name = "epoch",
         .kind = FlagKind::kInteger,
         .value = "N",
         .help = "sheet: which pass over the dataset, from 0; each draws its own random numbers",
         .fallback = "0",
         .least = 0,
         .most = 1000000000},
        {.name = "labels", .kind = FlagKind::kText, .value = "FILE", .help = "sheet: class names, one a line"},
        set_flag(),
        json_flag(),
        data_threads_flag(),
        decode_flag()},
       state_flags(),
       device_flags()});
}

}  // namespace

data::PipelineOptions pipeline_options_of(const Arguments& arguments) {
  const std::shared_ptr<const NetFile> file =
      with_batch(open_net(arguments.operands()[1], overrides_of(arguments)), arguments.integer("batch"));
  const caffe::NetState state = graph::merge_states(file->net.state(), state_of(arguments, phase_of(arguments)));
  data::DataOptions options;
  options.phase = state.phase();
  options.data_threads = data_threads_of(arguments);
  return data::make_pipeline_options(data_layer(*file, state, arguments.text("layer")), options);
}

Command data_command() {
  return {
      .name = "data",
      .summary = "measures or shows what a net's data layer gives",
      .flags = flags(),
      .operands = {"ACTION NET", "bench measures how fast batches come, sheet draws a contact sheet", 2, 2},
      .examples = {{"cortado data bench train_val.prototxt --data-threads=2",
                    "images per second when nothing else is done with them"},
                   {"cortado data sheet train_val.prototxt -o sheet.png --epoch=3 --labels=names.txt",
                    "64 images as the fourth epoch of training sees them, with their classes"}},
      .run = run_data,
      .about =
          "Samples are read, decoded and transformed as training would: the same records in the same order with the "
          "same random draws. In a sheet what normalising did is undone, so that images look as they are."};
}

}  // namespace cortado::tools
