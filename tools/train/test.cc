// `cortado test`: scores a net on its own data. Log lines are Caffe's: a line for each batch and the means over
// batches. The scores of all samples, which are the sums of what layers divide, and the classes are in the tables and
// in JSON.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/text/json.h"
#include "net/epoch.h"
#include "tools/infer/class_names.h"
#include "tools/net/frozen_net.h"
#include "tools/options/flags.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/progress.h"
#include "tools/program/command.h"
#include "tools/train/test_report.h"

namespace cortado::tools {

namespace {

/// A net with all that is read of it after each batch.
struct Tested {
  std::unique_ptr<Net> net;
  std::unique_ptr<OutputReader> outputs;
  std::unique_ptr<ClassWatch> classes;  ///< null: not wanted
};

Tested watched(std::unique_ptr<Net> net, bool classes) {
  Tested tested{std::move(net), nullptr, nullptr};
  tested.outputs = std::make_unique<OutputReader>(*tested.net);
  if (classes) tested.classes = std::make_unique<ClassWatch>(*tested.net);
  return tested;
}

/// Of outputs whose rows only the values tell there may be fewer elements than were planned.
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

/// The net that takes the records that fill no batch, with the weights of `net`.
std::unique_ptr<Net> make_tail(std::shared_ptr<const NetFile> file, graph::BuildOptions options, Net& net,
                               int64_t records) {
  auto tail = make_frozen_tail(file, std::move(options), net, records);
  for (size_t k = 0; k < net.outputs().size(); ++k)
    if (const NetOutput& output = net.outputs()[k]; output.scores() != tail->outputs()[k].scores())
      throw usage_error("--epoch: output '" + output.name + "' has values for each sample, not a score of the batch",
                        "a Silence layer takes it from the outputs");
  return tail;
}

int64_t count_records(const Net& net) {
  try {
    return records_of(net.plan().graph, "--epoch");
  } catch (const FieldError& error) {
    throw usage_error("--epoch: " + error.message(), "--iterations counts batches");
  }
}

/// How the result is shown besides Caffe's lines on stderr.
struct Forms {
  bool json, tables;
};

Forms forms_of(const Arguments& arguments) {
  const bool json = arguments.on("json");
  return {json, !json && (is_terminal(1) || is_terminal(2) || arguments.has("labels"))};
}

void find_names(const Arguments& arguments, const Net& net, TestReport& report) {
  if (arguments.has("labels") && report.classifications.empty())
    throw usage_error("--labels: no layer of the net compares scores with labels", "an Accuracy layer does");
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

int run_test(const Arguments& arguments) {
  if (is_terminal(2) && !arguments.on("verbose")) set_log_level(Severity::kWarning);
  const Forms forms = forms_of(arguments);
  CommandContext context(arguments);
  choose_decoder(arguments, context);
  graph::BuildOptions options;
  options.state = state_of(arguments, caffe::TEST);
  options.data_threads = data_threads_of(arguments);
  options.skip_bad = skip_bad_of(arguments);
  const auto file = open_net(arguments.text("model"), overrides_of(arguments));
  std::vector<Tested> nets;
  nets.push_back(
      watched(make_frozen_net(file, options, arguments.texts("weights"), context), forms.json || forms.tables));
  Net& net = *nets[0].net;
  for (const std::string& input : net.input_names())
    log_warning() << "Nothing gives input '" << input << "' its data: it holds zeros (cortado infer takes arrays)";
  const bool epoch = arguments.on("epoch");
  if (epoch && arguments.has("iterations"))
    throw usage_error("--epoch and --iterations both say how long the test is", "keep one");
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
      .summary = "scores a trained net on its test data",
      .flags = joined(
          {{model_flag(),
            weights_flag("trained weights; later files overwrite earlier ones"),
            {.name = "iterations",
             .kind = FlagKind::kInteger,
             .value = "N",
             .help = "batches to average over",
             .fallback = "50",
             .least = 1},
            {.name = "epoch",
             .help = "the whole set instead, each record once: its last batch is as small as it must be"},
            {.name = "labels",
             .kind = FlagKind::kText,
             .value = "FILE",
             .help = "names of the classes, one a line, for the tables, which are then shown in a pipe too"},
            set_flag(),
            json_flag(),
            data_threads_flag(),
            decode_flag(),
            skip_bad_flag(),
            {.name = "verbose", .help = "log lines on a terminal too, besides the progress line", .letter = 'v'}},
           state_flags(),
           device_flags()}),
      .operands = {},
      .examples = {{"cortado test --model=train_val.prototxt --weights=lenet_iter_5000.caffemodel --iterations=100",
                    "accuracy and loss of 100 batches' samples"},
                   {"cortado test --model=train_val.prototxt --weights=lenet_iter_5000.caffemodel --epoch",
                    "accuracy and loss of the set, exactly"},
                   {"cortado test train_val.prototxt --weights=net.caffemodel --epoch --labels=labels.txt",
                    "and tables of the classes, with their names"}},
      .run = run_test,
      .about =
          "A score is that of all samples: right ones by counted ones, not a mean over batches. On a terminal the end "
          "is a table of scores, one of classes, and which were taken for which. In a pipe, Caffe's lines on stderr: "
          "the scores of each batch and their means, and the scores of all samples where these differ from the means "
          "(--epoch: those alone). Names of classes are looked for beside the dataset as well."};
}

}  // namespace cortado::tools
