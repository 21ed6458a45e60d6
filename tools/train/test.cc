// `cortado test`: scores a net on its own data. Log lines are Caffe's: a line for each batch, and the means over
// batches. The scores over all samples and the classes are in the tables and in JSON.
#include <iostream>
#include <nlohmann/json.hpp>

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

/// A net for the last records, which do not fill a batch of `net`, with its weights.
std::unique_ptr<Net> make_tail(std::shared_ptr<const NetFile> file, graph::BuildOptions options, Net& net,
                               int64_t records) {
  auto tail = make_frozen_tail(file, std::move(options), net, records);
  for (size_t k = 0; k < net.outputs().size(); ++k)
    if (const NetOutput& output = net.outputs()[k]; output.scores() != tail->outputs()[k].scores())
      throw usage_error("--epoch: output '" + output.name + "' has values for each sample, not one score for the batch",
                        "consume it with a Silence layer");
  return tail;
}

int64_t count_records(const Net& net) {
  try {
    return records_of(net.plan().graph, "--epoch");
  } catch (const FieldError& error) {
    throw usage_error("--epoch: " + error.message(), "use --iterations, the number of batches");
  }
}

/// The output formats, in addition to Caffe's lines on stderr.
struct Forms {
  bool json, tables;
};

Forms forms_of(const Arguments& arguments) {
  const bool json = arguments.on("json");
  return {json, !json && (is_terminal(1) || is_terminal(2) || arguments.has("labels"))};
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
    runs.outputs->read();
    report.scores.add(*runs.outputs, runs.net->loss(), epoch ? double(runs.net->batch_size()) : 1);
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
  const bool epoch = arguments.on("epoch");
  if (epoch && arguments.has("iterations")) throw usage_error("--epoch and --iterations exclude each other");
  const int64_t records = epoch ? count_records(net) : 0;
  const int64_t whole = epoch ? records / net.batch_size() : arguments.integer("iterations");
  if (epoch && records % net.batch_size() > 0)
    nets.push_back(watched(make_tail(file, options, net, records), nets[0].classes != nullptr));
  TestReport report{.batches = whole + int64_t(nets.size()) - 1,
                    .samples = epoch ? records : whole * net.batch_size(),
                    .scores = ScoreSums(*nets[0].outputs)};
  if (nets[0].classes) report.classifications = nets[0].classes->none_yet();
  find_names(arguments, net, report);
  log_info() << "Running for " << report.batches << " iterations.";
  run_batches(nets, whole, epoch, context, report);
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
                       {iterations_flag("50", 1, "batches of the test"),
                        {.name = "epoch", .help = "test the whole dataset, each record once, in place of --iterations"},
                        with_note(labels_flag(), "shows the tables in a pipe, too"),
                        json_flag(),
                        set_flag(),
                        layer_flag(),
                        verbose_flag()},
                       advanced({skip_bad_flag(), data_threads_flag(), decode_flag()}),
                       state_flags(),
                       device_flags()}),
      .examples = {{"cortado test runs/first --epoch", "a run's best weights on the whole test set"},
                   {"cortado test train_val.prototxt lenet_iter_5000.caffemodel --iterations=100",
                    "accuracy and loss of 100 batches"},
                   {"cortado test train_val.prototxt net.caffemodel --epoch --labels=labels.txt",
                    "with tables of the classes and their names"}},
      .run = run_test,
      .about =
          "A score is computed over all samples, not averaged over batches. A terminal shows a table of scores, one "
          "of classes, and the most frequent confusions. A pipe gets Caffe's lines on stderr: the scores of each "
          "batch and their means, and the scores over all samples where these differ (with --epoch only those)."};
}

}  // namespace cortado::tools
