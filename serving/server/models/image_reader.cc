#include "server/models/image_reader.h"

#include <algorithm>

#include "core/log.h"
#include "data/image/image_formats.h"
#include "server/server_names.h"
#include "tools/infer/class_names.h"
#include "tools/infer/detections.h"
#include "tools/infer/image_input.h"
#include "tools/options/like_net.h"

namespace cortado::server {

namespace {

bool is_image(const Shape& shape) { return shape.axes() == 4 && (shape[1] == 1 || shape[1] == 3); }

bool is_list_of_objects(const Shape& shape) {
  return shape.axes() > 1 && shape[shape.axes() - 1] == tools::kDetectionRow && shape[0] == 1;
}

/// Loads OpenCV at start: the first request that needs it would wait, and loading sets the environment, which no other
/// thread may read then.
void load_other_decoders() {
  data::Image pixel;
  pixel.resize(3, 1, 1);
  try {
    data::encode_image(pixel, "bmp");
  } catch (const data::SampleError& error) {
    log_info() << "images in formats that OpenCV decodes will be refused: " << error.what();
  }
}

/// 'prob' if it exists, else the only output; "" if there are several.
std::string output_for_images(const Predictor& predictor) {
  const std::vector<std::string>& names = predictor.outputs();
  if (std::ranges::find(names, "prob") != names.end()) return "prob";
  return names.size() == 1 ? names[0] : "";
}

std::map<int, std::string> numbered(const std::vector<std::string>& names) {
  std::map<int, std::string> out;
  for (const std::string& name : names) out.emplace(int(out.size()), name);
  return out;
}

}  // namespace

std::unique_ptr<ImageReader> ImageReader::make(const tools::Arguments& arguments, const tools::InferenceNet& net,
                                               const Predictor& predictor) {
  const std::string output = output_for_images(predictor);
  if (predictor.inputs().size() != 1 || output.empty()) return nullptr;
  const auto& [input, shape] = *predictor.inputs().begin();
  const Shape result = predictor.output_shape(output);
  const bool finds_objects = is_list_of_objects(result);
  if (!is_image(shape) || (!finds_objects && (result.axes() < 2 || result.count(1) != result[1]))) return nullptr;
  load_other_decoders();
  std::optional<tools::LikeNet> like = tools::find_like_net(arguments, net);
  std::unique_ptr<ImageReader> reader(new ImageReader(tools::image_preparation(arguments, like, shape)));
  reader->input_ = input;
  reader->output_ = output;
  reader->shape_ = shape;
  reader->shape_[0] = 1;
  reader->finds_objects_ = finds_objects;
  reader->top_ = size_t(arguments.integer("top"));
  reader->threshold_ = float(arguments.number("threshold"));
  reader->names_ = finds_objects ? tools::detection_names(arguments, like)
                                 : numbered(tools::class_names(arguments, like, result[1]));
  return reader;
}

Array ImageReader::prepare(std::string_view content) {
  if (!data::is_served_image(content))
    throw RequestError(Refusal::kMediaType, "the body is not a " + data::served_image_formats() + " image");
  Array row{shape_, std::vector<float>(size_t(shape_.count()))};
  try {
    preparer_.prepare_content(content, int(shape_[1]), int(shape_[2]), int(shape_[3]), row.values.data());
  } catch (const data::SampleError& error) {
    throw RequestError(Refusal::kInvalid, error.what());
  }
  return row;
}

std::vector<Seen> ImageReader::seen(const Array& output) const {
  const auto name_of = [this](int label) {
    const auto found = names_.find(label);
    return found == names_.end() ? std::to_string(label) : found->second;
  };
  std::vector<Seen> all;
  if (finds_objects_) {
    for (const tools::Found& found : tools::objects_in(output.values, threshold_))
      all.push_back({found.label, name_of(found.label), double(found.score), found.box});
    return all;
  }
  const float* scores = output.values.data();
  const size_t classes = output.values.size();
  const std::vector<double> shares = tools::is_distribution(scores, classes)
                                         ? std::vector<double>(scores, scores + classes)
                                         : tools::softmax(scores, classes);
  for (const tools::Guess& guess : tools::best(shares, top_))
    all.push_back({guess.label, name_of(guess.label), guess.probability, {}});
  return all;
}

}  // namespace cortado::server
