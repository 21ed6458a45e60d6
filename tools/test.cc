// `cortado test`: scores a net on its own data. Log lines are Caffe's; a score is the plain mean over the batches.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/log.h"
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

  void add(int64_t batch) {
    loss_ += net_.loss();
    for (size_t k = 0; k < sums_.size(); ++k) {
      const std::vector<float> values = net_.read_blob(net_.outputs()[k].name);
      for (size_t i = 0; i < values.size(); ++i) {
        sums_[k][i] += double(values[i]);
        log_info() << "Batch " << batch << ", " << net_.outputs()[k].name << " = " << score_text(values[i]);
      }
    }
    ++batches_;
  }

  void log() const {
    log_info() << "Loss: " << score_text(loss_ / double(batches_));
    for (size_t k = 0; k < sums_.size(); ++k) {
      const NetOutput& output = net_.outputs()[k];
      for (const double sum : sums_[k]) {
        const double mean = sum / double(batches_);
        std::string line = output.name + " = " + score_text(mean);
        if (output.loss_weight != 0)
          line += " (* " + score_text(output.loss_weight) + " = " + score_text(output.loss_weight * mean) + " loss)";
        log_info() << line;
      }
    }
  }

  nlohmann::ordered_json json() const {
    nlohmann::ordered_json out = {
        {"iterations", batches_}, {"loss", loss_ / double(batches_)}, {"outputs", nlohmann::ordered_json::object()}};
    for (size_t k = 0; k < sums_.size(); ++k) {
      std::vector<double> means;
      for (const double sum : sums_[k]) means.push_back(sum / double(batches_));
      out["outputs"][net_.outputs()[k].name] =
          means.size() == 1 ? nlohmann::ordered_json(means[0]) : nlohmann::ordered_json(means);
    }
    return out;
  }

 private:
  Net& net_;
  std::vector<std::vector<double>> sums_;
  double loss_ = 0;
  int64_t batches_ = 0;
};

int run_test(const Arguments& arguments) {
  Context context = make_context(arguments);
  graph::BuildOptions options;
  options.state = state_of(arguments, caffe::TEST);
  if (arguments.has("data-threads")) options.data_threads = int(arguments.integer("data-threads"));
  const auto net = make_frozen_net(open_net(arguments.text("model"), overrides_of(arguments)), options,
                                   arguments.texts("weights"), context);
  const int64_t iterations = arguments.integer("iterations");
  log_info() << "Running for " << iterations << " iterations.";
  Scores scores(*net);
  CountedProgress progress("test");
  const auto show = progress.callback();
  for (int64_t batch = 0; batch < iterations; ++batch, ++context.pass) {
    net->forward();
    scores.add(batch);
    if (show) show(batch + 1, iterations);
  }
  progress.finish();
  scores.log();
  if (arguments.on("json")) std::cout << scores.json().dump(2) << "\n";
  return 0;
}

}  // namespace

Command test_command() {
  return {.name = "test",
          .summary = "scores a trained net on its test data",
          .flags = joined({{model_flag(),
                            weights_flag("trained weights; later files overwrite earlier ones"),
                            {.name = "iterations",
                             .kind = FlagKind::kInteger,
                             .value = "N",
                             .help = "batches to average over",
                             .fallback = "50",
                             .least = 1},
                            set_flag(),
                            json_flag(),
                            data_threads_flag()},
                           state_flags(),
                           device_flags()}),
          .operands = {},
          .examples = {{"cortado test --model=train_val.prototxt --weights=lenet_iter_5000.caffemodel --iterations=100",
                        "mean accuracy and loss over 100 batches"}},
          .run = run_test};
}

}  // namespace cortado::tools
