// `cortado classify`: predicts the classes of images. image_input.h prepares them. If the net's output is not a
// distribution, its softmax is shown. Each image is reported as soon as it is done.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/text/json.h"
#include "data/sources/prepare_image.h"
#include "net/inputs.h"
#include "net/predictor.h"
#include "tools/infer/class_names.h"
#include "tools/infer/image_input.h"
#include "tools/net/frozen_net.h"
#include "tools/options/inference_net.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/options/run_source.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

constexpr int64_t kMaxAtOnce = 32;

class Classifier {
 public:
  Classifier(const Arguments& arguments, size_t images)
      : top_(size_t(arguments.integer("top"))), batch_(std::min<size_t>(kMaxAtOnce, images)) {
    const InferenceNet net = open_inference_net(arguments);
    predictor_ = make_predictor(arguments, net.file, int64_t(batch_));
    find_input();
    check_output();
    std::optional<LikeNet> like = find_like_net(arguments, net);
    preparer_.emplace(image_preparation(arguments, like, predictor_->inputs().begin()->second));
    names_ = class_names(arguments, like, int64_t(classes_));
  }

  size_t batch() const { return batch_; }
  std::string name_of(int label) const { return names_.empty() ? std::to_string(label) : names_[size_t(label)]; }

  void load(size_t slot, const std::string& path) {
    const Shape& shape = pixels_.shape;
    const size_t size = size_t(shape.count(1));
    if (pixels_.values.empty()) pixels_.values.resize(batch_ * size);
    preparer_->prepare(path, int(shape[1]), int(shape[2]), int(shape[3]), pixels_.values.data() + slot * size);
  }

  /// Predicts the images in all slots, including those from the last call: one batch size, one plan.
  std::vector<std::vector<Guess>> run() {
    const Arrays results = predictor_->predict({{input_, pixels_}});
    const Array& output = results.at(predictor_->outputs()[0]);
    std::vector<std::vector<Guess>> out;
    for (size_t n = 0; n < batch_; ++n) out.push_back(guess(output.values.data() + n * classes_));
    return out;
  }

 private:
  static std::unique_ptr<Predictor> make_predictor(const Arguments& arguments,
                                                   const std::shared_ptr<const NetFile>& file, int64_t batch) {
    PredictorOptions options = predictor_options(arguments);
    options.batch = batch;
    if (const size_t inputs = declared_inputs(*file, options.state).size(); inputs != 1)
      throw usage_error("the net has " + std::to_string(inputs) + " inputs; classify needs exactly one",
                        "use a net with one input");
    options.outputs = {find_output(arguments.text("blobs"), output_names(file, options.state))};
    return std::make_unique<Predictor>(file, arguments.texts("weights"), options);
  }

  /// The blob of --blobs, else the only output, else 'prob'.
  static std::string find_output(const std::string& blob, const std::vector<std::string>& outputs) {
    if (!blob.empty()) return blob;
    if (outputs.size() == 1) return outputs[0];
    if (std::find(outputs.begin(), outputs.end(), "prob") != outputs.end()) return "prob";
    throw usage_error("the net has several outputs", "choose one with --blobs=BLOB");
  }

  void find_input() {
    const auto& [name, shape] = *predictor_->inputs().begin();
    input_ = name;
    if (shape.axes() != 4 || (shape[1] != 1 && shape[1] != 3))
      throw Error(ExitCode::kNet,
                  "input '" + input_ + "' has shape " + shape.str() + ": not images of one or three channels");
    pixels_.shape = {int64_t(batch_), shape[1], shape[2], shape[3]};
  }

  void check_output() {
    const std::string& output = predictor_->outputs()[0];
    const Shape shape = predictor_->output_shape(output);
    if (shape.axes() < 1 || shape[0] != int64_t(batch_) || shape.count() == 0)
      throw Error(ExitCode::kNet, "output '" + output + "' has shape " + shape.str() + ": not one row for each image");
    classes_ = size_t(shape.count(1));
  }

  std::vector<Guess> guess(const float* values) {
    if (is_distribution(values, classes_)) return best(std::vector<double>(values, values + classes_), top_);
    if (!warned_) log_warning() << "'" << predictor_->outputs()[0] << "' is not a distribution: showing its softmax";
    warned_ = true;
    return best(softmax(values, classes_), top_);
  }

  size_t top_, batch_;
  std::unique_ptr<Predictor> predictor_;
  std::string input_;
  std::optional<data::ImagePreparer> preparer_;
  size_t classes_ = 0;
  std::vector<std::string> names_;
  Array pixels_;
  bool warned_ = false;
};

class ClassifyReport {
 public:
  explicit ClassifyReport(bool json) : json_(json), table_(!json && is_terminal(1)) {}

  void add(const Classifier& classifier, const std::string& image, const std::vector<Guess>& guesses) {
    if (table_) std::cout << image << "\n";
    nlohmann::ordered_json top = nlohmann::ordered_json::array();
    for (const Guess& guess : guesses) {
      const std::string name = classifier.name_of(guess.label), probability = number_text("%.4f", guess.probability);
      if (json_)
        top.push_back({{"label", guess.label}, {"name", name}, {"probability", guess.probability}});
      else if (table_)
        std::cout << "  " << probability << "  " << name << "\n";
      else
        std::cout << image << "\t" << guess.label << "\t" << probability << "\t" << name << "\n";
    }
    if (!json_) return;
    const nlohmann::ordered_json line = {{"image", image}, {"top", top}};
    std::cout << dumped_json(line) << "\n";
  }

 private:
  bool json_, table_;
};

/// Loads images from `next` on until a batch is full. A bad image is reported and skipped, and sets `code`.
std::vector<std::string> load_batch(Classifier& classifier, const std::vector<std::string>& images, size_t& next,
                                    int& code) {
  std::vector<std::string> loaded;
  for (; next < images.size() && loaded.size() < classifier.batch(); ++next) {
    try {
      classifier.load(loaded.size(), images[next]);
      loaded.push_back(images[next]);
    } catch (...) {
      code = show_bad_image(images[next]);
    }
  }
  return loaded;
}

int run_classify(const Arguments& given) {
  const Arguments arguments = with_run(given);
  const std::vector<std::string> images = image_files(arguments.operands());
  Classifier classifier(arguments, images.size());
  ClassifyReport report(arguments.on("json"));
  int code = 0;
  for (size_t next = 0; next < images.size();) {
    const std::vector<std::string> loaded = load_batch(classifier, images, next, code);
    if (loaded.empty()) continue;
    const auto guesses = classifier.run();
    for (size_t i = 0; i < loaded.size(); ++i) report.add(classifier, loaded[i], guesses[i]);
  }
  return code;
}

}  // namespace

Command classify_command() {
  Flag blobs = blobs_flag("has the probabilities, where the net has several outputs");
  blobs.former = {"output"};
  return {.name = "classify",
          .summary = "Classify images",
          .flags = joined({trained_net_flags(true),
                           {labels_flag(), top_flag(100000), blobs, set_flag(), layer_flag(), json_flag()},
                           image_input_flags(),
                           state_flags(),
                           device_flags()}),
          .operands = {"IMAGE...", "image files, folders of them, patterns such as 'photos/*.jpg'", 1, 1000000},
          .examples = {{"cortado classify runs/first cat.jpg", "with what a run trained"},
                       {"cortado classify deploy.prototxt net.caffemodel --labels=labels.txt cat.jpg",
                        "the five likeliest classes"},
                       {"cortado classify deploy.prototxt net.caffemodel --like=train_val.prototxt photos",
                        "a folder, its images prepared as in testing"},
                       {"cortado classify deploy.prototxt net.caffemodel --mean=104,117,123 --json *.jpg",
                        "for scripts: an object a line"}},
          .run = run_classify,
          .about =
              "A terminal shows a table; a pipe gets lines of image, label, probability and name, separated by tabs. "
              "With --like, scores are those of `cortado test` for the same image."};
}

}  // namespace cortado::tools
