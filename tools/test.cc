// `cortado test`: scores a net on its own data. Log lines are Caffe's; a score is the plain mean over the batches.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "net/epoch.h"
#include "tools/command.h"
#include "tools/frozen_net.h"
#include "tools/net_file.h"
#include "tools/progress.h"
#include "tools/run_options.h"

namespace cortado::tools {

namespace {

/// Sums over batches of every element of every output.
class Scores {
 public:
  explicit Scores(Net& net) : net_(net) {
    for (const NetOutput& output : net.outputs()) sums_.emplace_back(size_t(output.shape.count()), 0.0);
  }

  /// The outputs of `net`, which is the one or another of its outputs, after its pass; the mean counts them `share`
  /// times.
  void add(Net& net, int64_t batch, double share) {
    loss_ += net.loss() * share;
    for (size_t k = 0; k < sums_.size(); ++k) {
      const std::vector<float> values = net.read_blob(net_.outputs()[k].name);
      if (&net != &net_ && values.size() != sums_[k].size())
        throw usage_error(
            "--epoch: output '" + net_.outputs()[k].name + "' has values for each sample, not a score of the batch",
            "a Silence layer takes it from the outputs");
      for (size_t i = 0; i < values.size(); ++i) {
        sums_[k][i] += double(values[i]) * share;
        log_info() << "Batch " << batch << ", " << net_.outputs()[k].name << " = " << score_text(values[i]);
      }
    }
    ++batches_;
    shares_ += share;
  }

  void log() const {
    log_info() << "Loss: " << score_text(loss_ / shares_);
    for (size_t k = 0; k < sums_.size(); ++k) {
      const NetOutput& output = net_.outputs()[k];
      for (const double sum : sums_[k]) {
        const double mean = sum / shares_;
        std::string line = output.name + " = " + score_text(mean);
        if (output.loss_weight != 0)
          line += " (* " + score_text(output.loss_weight) + " = " + score_text(output.loss_weight * mean) + " loss)";
        log_info() << line;
      }
    }
  }

  nlohmann::ordered_json json() const {
    nlohmann::ordered_json out = {
        {"iterations", batches_}, {"loss", loss_ / shares_}, {"outputs", nlohmann::ordered_json::object()}};
    for (size_t k = 0; k < sums_.size(); ++k) {
      std::vector<double> means;
      for (const double sum : sums_[k]) means.push_back(sum / shares_);
      out["outputs"][net_.outputs()[k].name] =
          means.size() == 1 ? nlohmann::ordered_json(means[0]) : nlohmann::ordered_json(means);
    }
    return out;
  }

 private:
  Net& net_;
  std::vector<std::vector<double>> sums_;
  double loss_ = 0, shares_ = 0;
  int64_t batches_ = 0;
};

/// The net that takes the records that fill no batch, with the weights of `net`; null where none is left.
std::unique_ptr<Net> make_tail(std::shared_ptr<const NetFile> file, graph::BuildOptions options, Net& net,
                               int64_t records) {
  const int64_t left = records % net.batch_size();
  if (left == 0) return nullptr;
  options.backward = false;
  options.frozen = true;
  auto tail = make_net(with_data_batch(file, left), options, net.context(), &net);
  for (const auto& [layer, position] : tail->positions()) tail->seek(layer, uint64_t(records - left));
  return tail;
}

int64_t count_records(const Net& net) {
  try {
    return records_of(net.plan().graph, "--epoch");
  } catch (const FieldError& error) {
    throw usage_error("--epoch: " + error.message(), "--iterations counts batches");
  }
}

int run_test(const Arguments& arguments) {
  Context context = make_context(arguments);
  graph::BuildOptions options;
  options.state = state_of(arguments, caffe::TEST);
  if (arguments.has("data-threads")) options.data_threads = int(arguments.integer("data-threads"));
  const auto file = open_net(arguments.text("model"), overrides_of(arguments));
  const auto net = make_frozen_net(file, options, arguments.texts("weights"), context);
  for (const std::string& input : net->input_names())
    log_warning() << "Nothing gives input '" << input << "' its data: it holds zeros (cortado infer takes arrays)";
  const bool epoch = arguments.on("epoch");
  if (epoch && arguments.has("iterations"))
    throw usage_error("--epoch and --iterations both say how long the test is", "keep one");
  const int64_t records = epoch ? count_records(*net) : 0;
  const std::unique_ptr<Net> tail = epoch ? make_tail(file, options, *net, records) : nullptr;
  const int64_t whole = epoch ? records / net->batch_size() : arguments.integer("iterations"),
                iterations = whole + (tail ? 1 : 0);
  log_info() << "Running for " << iterations << " iterations.";
  Scores scores(*net);
  CountedProgress progress("test");
  const auto show = progress.callback();
  for (int64_t batch = 0; batch < iterations; ++batch, ++context.pass) {
    Net& runs = batch < whole ? *net : *tail;
    runs.forward();
    scores.add(runs, batch, epoch ? double(runs.batch_size()) : 1);
    if (show) show(batch + 1, iterations);
  }
  progress.finish();
  scores.log();
  if (arguments.on("json")) std::cout << scores.json().dump(2) << "\n";
  return 0;
}

}  // namespace

Command test_command() {
  return {
      .name = "test",
      .summary = "scores a trained net on its test data",
      .flags = joined({{model_flag(),
                        weights_flag("trained weights; later files overwrite earlier ones"),
                        {.name = "iterations",
                         .kind = FlagKind::kInteger,
                         .value = "N",
                         .help = "batches to average over",
                         .fallback = "50",
                         .least = 1},
                        {.name = "epoch",
                         .help = "the whole set instead, each record once: its last batch is as small as it must be"},
                        set_flag(),
                        json_flag(),
                        data_threads_flag()},
                       state_flags(),
                       device_flags()}),
      .operands = {},
      .examples = {{"cortado test --model=train_val.prototxt --weights=lenet_iter_5000.caffemodel --iterations=100",
                    "mean accuracy and loss over 100 batches"},
                   {"cortado test --model=train_val.prototxt --weights=lenet_iter_5000.caffemodel --epoch",
                    "accuracy and loss of the set, exactly"}},
      .run = run_test};
}

}  // namespace cortado::tools
