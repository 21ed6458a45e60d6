// `cortado detect`: finds objects in images with a net that ends in rows of (image, label, score, corners), as
// DetectionOutput writes them. Draws the boxes on copies of the images.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/text/json.h"
#include "data/image/image.h"
#include "data/image/png.h"
#include "data/sources/prepare_image.h"
#include "net/inputs.h"
#include "net/predictor.h"
#include "tools/canvas/canvas.h"
#include "tools/infer/detections.h"
#include "tools/infer/image_input.h"
#include "tools/net/frozen_net.h"
#include "tools/options/inference_net.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/options/run_source.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

class Detector {
 public:
  explicit Detector(const Arguments& arguments) : threshold_(float(arguments.number("threshold"))) {
    const InferenceNet net = open_inference_net(arguments);
    predictor_ = make_predictor(arguments, net.file);
    std::tie(input_, shape_) = *predictor_->inputs().begin();
    if (shape_.axes() != 4 || (shape_[1] != 1 && shape_[1] != 3))
      throw Error(ExitCode::kNet,
                  "input '" + input_ + "' has shape " + shape_.str() + ": not images of one or three channels");
    shape_[0] = 1;
    const Shape rows = predictor_->output_shape(predictor_->outputs()[0]);
    if (rows.axes() < 1 || rows[rows.axes() - 1] != kDetectionRow)
      throw Error(ExitCode::kNet,
                  "output '" + predictor_->outputs()[0] + "' has shape " + rows.str() +
                      ": not rows of image, label, score and four corners",
                  "use a net that ends in DetectionOutput, or name its blob with --blobs");
    std::optional<LikeNet> like = find_like_net(arguments, net);
    preparer_.emplace(image_preparation(arguments, like, shape_));
    names_ = detection_names(arguments, like);
  }

  std::string name_of(int label) const {
    const auto found = names_.find(label);
    return found == names_.end() ? std::to_string(label) : found->second;
  }

  /// The objects of one image with a score of at least the threshold, the highest score first.
  std::vector<Found> run(const std::string& path) {
    Array pixels{shape_, std::vector<float>(size_t(shape_.count()))};
    preparer_->prepare(path, int(shape_[1]), int(shape_[2]), int(shape_[3]), pixels.values.data());
    const Arrays results = predictor_->predict({{input_, std::move(pixels)}});
    return objects_in(results.at(predictor_->outputs()[0]).values, threshold_);
  }

 private:
  static std::unique_ptr<Predictor> make_predictor(const Arguments& arguments,
                                                   const std::shared_ptr<const NetFile>& file) {
    PredictorOptions options = predictor_options(arguments);
    options.batch = 1;
    if (const size_t inputs = declared_inputs(*file, options.state).size(); inputs != 1)
      throw usage_error("the net has " + std::to_string(inputs) + " inputs; detect needs exactly one",
                        "use a net with one input");
    const std::vector<std::string> outputs = output_names(file, options.state);
    const std::string blob = arguments.text("blobs");
    if (blob.empty() && outputs.size() != 1)
      throw usage_error("the net has " + std::to_string(outputs.size()) + " outputs", "choose one with --blobs=BLOB");
    options.outputs = {blob.empty() ? outputs[0] : blob};
    return std::make_unique<Predictor>(file, arguments.texts("weights"), options);
  }

  float threshold_;
  std::unique_ptr<Predictor> predictor_;
  std::string input_;
  Shape shape_;
  std::optional<data::ImagePreparer> preparer_;
  std::map<int, std::string> names_;
};

/// Colours that differ for successive labels.
Color color_of(int label) {
  static constexpr Color kColors[] = {{230, 60, 60},  {60, 180, 75},  {255, 200, 25}, {70, 130, 235}, {245, 130, 48},
                                      {170, 60, 200}, {70, 220, 220}, {240, 50, 230}, {190, 230, 60}, {250, 160, 160}};
  return kColors[size_t(label) % std::size(kColors)];
}

/// Dark text on light colours, light text on dark ones.
Color ink_on(Color color) {
  const bool light = 0.3 * color.red + 0.59 * color.green + 0.11 * color.blue > 140;
  return light ? Color{0, 0, 0} : Color{255, 255, 255};
}

/// Draws a label on a plate above the box, or at its upper edge if there is not enough space above.
void draw_label(Canvas& canvas, Point corner, const std::string& text, double size, double most, Color color) {
  const Font font{size, false};
  const double pad = size / 4, height = 1.3 * size, top = std::max(corner.y - height, 0.0);
  const double width = std::min(Canvas::width_of(text, font), most);
  canvas.fill({{corner.x, top}, width + 2 * pad, height}, color);
  canvas.text({corner.x + pad, top + size}, text, font, most, ink_on(color));
}

/// The image with its boxes. Small images are enlarged, so that names do not hide them.
data::Image drawn_boxes(const std::string& path, const std::vector<Found>& found, const Detector& detector) {
  constexpr int kLeastSide = 480;
  data::ImageDecoder decoder;
  data::Image image, larger;
  decoder.decode(read_file(path, data::kMaxImageFileBytes), data::ColorMode::kColor, image);
  const int factor = std::max(1, kLeastSide / std::max(image.height, image.width));
  data::resize_bilinear(image, image.height * factor, image.width * factor, larger);
  const double line = std::max(2.0, std::min(larger.height, larger.width) / 200.0), letters = 7 * line;
  Canvas canvas(larger);
  for (auto one = found.rbegin(); one != found.rend(); ++one) {
    const double x0 = one->box.x0 * larger.width, y0 = one->box.y0 * larger.height;
    const double x1 = one->box.x1 * larger.width, y1 = one->box.y1 * larger.height;
    const Color color = color_of(one->label);
    canvas.outline({{x0, y0}, x1 - x0, y1 - y0}, line, color);
    draw_label(canvas, {x0 - line / 2, y0}, detector.name_of(one->label) + " " + number_text("%.2f", one->score),
               letters, larger.width, color);
  }
  return canvas.image();
}

/// Prints the objects of images.
class DetectReport {
 public:
  explicit DetectReport(bool json) : json_(json), table_(!json && is_terminal(1)) {}

  void add(const Detector& detector, const std::string& path, const std::vector<Found>& found) {
    if (table_) std::cout << path << (found.empty() ? ": nothing" : "") << "\n";
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Found& one : found) {
      const std::string name = detector.name_of(one.label), score = number_text("%.4f", one.score);
      const float corners[] = {one.box.x0, one.box.y0, one.box.x1, one.box.y1};
      std::string box;
      for (const float v : corners) box += "\t" + number_text("%.4f", v);
      if (json_)
        list.push_back({{"label", one.label}, {"name", name}, {"score", one.score}, {"box", corners}});
      else if (table_)
        std::cout << "  " << score << "  " << name << box << "\n";
      else
        std::cout << path << "\t" << one.label << "\t" << score << box << "\t" << name << "\n";
    }
    if (!json_) return;
    const nlohmann::ordered_json line = {{"image", path}, {"objects", list}};
    std::cout << dumped_json(line) << "\n";
  }

 private:
  bool json_, table_;
};

/// The path of the picture of image `path` in the folder, with the ending .png.
std::string picture_of(const std::string& folder, const std::string& path) {
  return join_path(folder, std::filesystem::path(path).stem().string() + ".png");
}

/// Throws if a picture would replace an existing file, or the picture of another image.
void check_pictures(const Arguments& arguments, const std::string& folder, const std::vector<std::string>& images) {
  std::map<std::string, std::string> image_of;
  for (const std::string& path : images) {
    const std::string picture = picture_of(folder, path);
    check_may_replace(arguments, picture);
    const auto [other, fresh] = image_of.emplace(picture, path);
    if (!fresh && other->second != path)
      throw usage_error(other->second + " and " + path + " would both be written to " + picture,
                        "run detect for each with its own folder");
  }
}

int run_detect(const Arguments& given) {
  const Arguments arguments = with_run(given);
  const std::vector<std::string> images = image_files(arguments.operands());
  const std::string folder = arguments.text("output");
  if (!folder.empty()) {
    check_pictures(arguments, folder, images);
    Canvas::require();
  }
  Detector detector(arguments);
  std::error_code failure;
  make_folders(folder, failure);
  if (failure) throw file_error(ExitCode::kIo, folder, "cannot create the folder: " + failure.message());
  DetectReport report(arguments.on("json"));
  int code = 0;
  for (const std::string& path : images) {
    try {
      const std::vector<Found> found = detector.run(path);
      report.add(detector, path, found);
      if (!folder.empty())
        write_file_atomically(picture_of(folder, path), data::encode_png(drawn_boxes(path, found, detector)));
    } catch (...) {
      code = show_bad_image(path);
    }
  }
  return code;
}

std::vector<Flag> detect_flags() {
  Flag output = output_flag("FOLDER", "a copy of each image with its boxes, as PNG");
  output.former = {"output-folder"};
  return {labels_flag(), threshold_flag(), output,     force_flag(), blobs_flag("has the detections"),
          set_flag(),    layer_flag(),     json_flag()};
}

}  // namespace

Command detect_command() {
  return {
      .name = "detect",
      .summary = "Find objects in images and draw their boxes",
      .flags = joined({trained_net_flags(true), detect_flags(), image_input_flags(), state_flags(), device_flags()}),
      .operands = {"IMAGE...", "image files, folders of them, patterns such as 'photos/*.jpg'", 1, 1000000},
      .examples = {{"cortado detect deploy.prototxt ssd.caffemodel street.jpg -o found",
                    "the boxes, and found/street.png with them"},
                   {"cortado detect deploy.prototxt ssd.caffemodel --labels=labelmap.prototxt --threshold=0.3 "
                    "--json photos",
                    "a folder, for scripts"}},
      .run = run_detect,
      .about =
          "The net ends in rows of image, label, score, and the box's left, top, right and bottom edge as "
          "fractions of the image, as DetectionOutput, Yolov3DetectionOutput and YoloDetectionOutput do. A "
          "terminal shows a table; a pipe gets lines of image, label, score, edges and name, separated by "
          "tabs."};
}

}  // namespace cortado::tools
