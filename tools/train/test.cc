// `cortado test`: scores a net on its own data. Log lines are Caffe's: a line for each batch, and the means over
// batches. The scores over all samples and the classes are in the tables and in JSON.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/field_text.h"
#include "core/log.h"
#include "core/text/json.h"
#include "net/epoch.h"
#include "tools/infer/class_names.h"
#include "tools/net/frozen_net.h"
#include "tools/options/flags.h"
#include "tools/options/inference_net.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/options/run_source.h"
#include "tools/output/progress.h"
#include "tools/program/command.h"
#include "tools/train/test_report.h"

namespace cortado::tools {

namespace {

/// A net with the readers of its results after each batch.
struct Tested {
  std::unique_ptr<Net> net;
  std::unique_ptr<OutputReader> outputs;
  std::unique_ptr<ClassWatch> classes;  ///< null: not needed
};

Tested watched(std::unique_ptr<Net> net, bool classes) {
  Tested tested{std::move(net), nullptr, nullptr};
  tested.outputs = std::make_unique<OutputReader>(*tested.net);
  if (classes) tested.classes = std::make_unique<ClassWatch>(*tested.net);
  return tested;
}

/// Outputs whose number of rows depends on the data may have fewer elements than planned.
void log_batch(const Tested& tested, int64_t batch) {
  size_t first = 0;
  for (const NetOutput& output : tested.net->outputs()) {
    const size_t count = output.detection_classes > 0 ? 1 : size_t(tested.net->blob_shape(output.name).count());
    for (size_t i = first; i < first + count; ++i)
      log_info() << "Batch " << batch << ", " << output.name << " = " << score_text(tested.outputs->scores()[i].value);
    first += size_t(output.scores());
  }
}

void log_scores(ScoreSums& sums, bool epoch) {
  const std::vector<Score>&exact = sums.exact(), &means = sums.means(), &shown = epoch ? exact : means;
  log_info() << "Loss: " << score_text(epoch ? sums.exact_loss() : sums.mean_loss());
  for (const Score& score : shown) {
    std::string line = score.name + " = " + score_text(score.value);
    if (score.loss_weight != 0)
      line += " (* " + score_text(score.loss_weight) + " = " + score_text(score.loss_weight * score.value) + " loss)";
    log_info() << line;
  }
  for (size_t i = 0; i < shown.size(); ++i)
    if (differ(shown[i].value, exact[i].value))
      log_info() << "Of all samples together: " << score_name(exact, i) << " = " << score_text(exact[i].value);
}

/// An output that has another number of values in a smaller batch; null if all are scores of the batch.
const NetOutput* output_of_samples(const Net& net, const Net& smaller) {
  for (size_t k = 0; k < net.outputs().size(); ++k)
    if (net.outputs()[k].scores() != smaller.outputs()[k].scores()) return &net.outputs()[k];
  return nullptr;
}

int64_t count_records(const Net& net) {
  try {
    return records_of(net.plan().graph, "--epoch");
  } catch (const FieldError& error) {
    throw usage_error(with_field(error), "use --iterations, the number of batches");
  }
}

/// How much of the data is tested.
struct Extent {
  int64_t whole = 0;    ///< batches of the net's size
  int64_t records = 0;  ///< of the whole dataset, each once; 0: only the batches count
};

/// By default each record once, as far as their number is known and each output is a score of a batch.
Extent extent_of(const Arguments& arguments, const Net& net) {
  constexpr int64_t kCaffesBatches = 50;
  if (arguments.on("epoch") && arguments.has("iterations"))
    throw usage_error("--epoch and --iterations exclude each other");
  if (arguments.has("iterations")) return {arguments.integer("iterations")};
  const int64_t records = arguments.on("epoch") ? count_records(net) : records_if_known(net.plan().graph);
  if (records == 0 || net.batch_size() == 0) return {kCaffesBatches};
  return {records / net.batch_size(), records};
}

/// Adds a net for the last records, which do not fill a batch. They are left out if an output has values for each
/// sample; --epoch makes that an error.
void add_tail(const Arguments& arguments, const std::shared_ptr<const NetFile>& file, graph::BuildOptions options,
              std::vector<Tested>& nets, Extent& extent) {
  Net& net = *nets[0].net;
  auto tail = make_frozen_tail(file, std::move(options), net, extent.records);
  const NetOutput* output = output_of_samples(net, *tail);
  if (!output) return nets.push_back(watched(std::move(tail), nets[0].classes != nullptr));
  const std::string what = "output '" + output->name + "' has values for each sample, not one score for the batch";
  if (arguments.on("epoch")) throw usage_error("--epoch: " + what, "consume it with a Silence layer");
  log_warning() << what << ": the last " << extent.records % net.batch_size() << " of " << extent.records
                << " records, which do not fill a batch, are left out";
  extent = {std::max<int64_t>(1, extent.whole)};
}

/// The output formats, in addition to Caffe's lines on stderr.
struct Forms {
  bool json, tables;
};

Forms forms_of(const Arguments& arguments) {
  const bool json = arguments.on("json");
  return {json, !json && (!arguments.on(kLogOnly) || arguments.has("labels"))};
}

void find_names(const Arguments& arguments, const Net& net, TestReport& report) {
  if (arguments.has("labels") && report.classifications.empty())
    throw usage_error("--labels: the net has no layer that compares scores with labels", "add an Accuracy layer");
  for (const Classification& of : report.classifications)
    report.names.push_back(class_names(arguments.text("labels"), net.plan().graph, of.confusion.classes()));
}

void run_batches(std::vector<Tested>& nets, int64_t whole, bool epoch, Context& context, TestReport& report) {
  CountedProgress progress("test");
  const auto show = progress.callback();
  for (int64_t batch = 0; batch < report.batches; ++batch, ++context.pass) {
    Tested& runs = nets[batch < whole ? 0 : 1];
    runs.net->forward();
    const double loss = runs.net->loss();
    runs.outputs->read();  // may overwrite blobs
    report.scores.add(*runs.outputs, loss, epoch ? double(runs.net->batch_size()) : 1);
    if (runs.classes) runs.classes->add_to(report.classifications);
    log_batch(runs, batch);
    if (show) show(batch + 1, report.batches);
  }
  progress.finish();
}

int run_test(const Arguments& given) {
  const Arguments arguments = with_run(given);
  if (is_terminal(2) && !arguments.on("verbose")) set_log_level(Severity::kWarning);
  const Forms forms = forms_of(arguments);
  CommandContext context(arguments);
  choose_decoder(arguments, context);
  graph::BuildOptions options;
  options.state = state_of(arguments, caffe::TEST);
  options.data_threads = data_threads_of(arguments);
  options.skip_bad = skip_bad_of(arguments);
  const auto file = open_model(arguments);
  std::vector<Tested> nets;
  nets.push_back(
      watched(make_frozen_net(file, options, arguments.texts("weights"), context), forms.json || forms.tables));
  Net& net = *nets[0].net;
  for (const std::string& input : net.input_names())
    log_warning() << "Input '" << input << "' has no data and holds zeros; `cortado infer` reads arrays";
  Extent extent = extent_of(arguments, net);
  if (extent.records > 0 && extent.records % net.batch_size() > 0) add_tail(arguments, file, options, nets, extent);
  const bool epoch = extent.records > 0;
  TestReport report{.batches = extent.whole + int64_t(nets.size()) - 1,
                    .samples = epoch ? extent.records : extent.whole * net.batch_size(),
                    .scores = ScoreSums(*nets[0].outputs)};
  if (nets[0].classes) report.classifications = nets[0].classes->none_yet();
  find_names(arguments, net, report);
  log_info() << "Running for " << report.batches << " iterations.";
  run_batches(nets, extent.whole, epoch, context, report);
  log_scores(report.scores, epoch);
  if (forms.tables) std::cout << tables_of(report, size_t(terminal_columns()));
  if (forms.json) std::cout << dumped_json(json_of(report), 2) << "\n";
  return 0;
}

}  // namespace

Command test_command() {
  return {
      .name = "test",
      .summary = "Score a trained net on its test data",
      .flags = joined({trained_net_flags(false),
                       {iterations_flag("", 1, "batches of the test, in place of each record once"),
                        {.name = "epoch", .help = "test each record once, or fail; the default where it is possible"},
                        {.name = kLogOnly, .help = "nothing on stdout, as in Caffe", .rank = FlagRank::kHidden},
                        labels_flag(),
                        json_flag(),
                        set_flag(),
                        layer_flag(),
                        verbose_flag()},
                       advanced({skip_bad_flag(), data_threads_flag(), decode_flag()}),
                       state_flags(),
                       device_flags()}),
      .examples = {{"cortado test runs/first", "a run's best weights on the whole test set"},
                   {"cortado test train_val.prototxt lenet_iter_5000.caffemodel --iterations=100",
                    "accuracy and loss of 100 batches"},
                   {"cortado test train_val.prototxt net.caffemodel --labels=labels.txt",
                    "with tables of the classes and their names"}},
      .run = run_test,
      .about =
          "Each record counts once; where their number is not known, 50 batches are tested. A score is computed over "
          "all samples, not averaged over batches. stdout has a table of scores, one of classes, and the most frequent "
          "confusions. stderr has Caffe's lines if it is not a terminal: the scores of each batch and their means, and "
          "the scores over all samples where these differ (of whole datasets only those). The program named `caffe` "
          "tests 50 batches and writes Caffe's lines only."};
}

}  // namespace cortado::tools
