#include "studio/look/answer.h"

#include "core/error.h"
#include "core/files/file.h"
#include "data/image/image_formats.h"
#include "tools/infer/class_names.h"
#include "tools/infer/detections.h"
#include "tools/infer/image_input.h"
#include "tools/options/like_net.h"

namespace cortado::studio {

namespace {

constexpr float kLeastScore = 0.05F;  ///< of an object; the page hides those below its threshold
constexpr size_t kMaxObjects = 200;

std::map<int, std::string> names_of_classes(const tools::Arguments& arguments,
                                            const std::optional<tools::LikeNet>& like, int64_t classes) {
  std::map<int, std::string> names;
  for (const std::string& name : tools::class_names(arguments, like, classes)) names.emplace(int(names.size()), name);
  return names;
}

}  // namespace

Answers::Answers(TrainedNet& net, const tools::Arguments& arguments)
    : net_(net), shape_(net.input_shape()), top_(size_t(arguments.integer("top"))) {
  std::optional<tools::LikeNet> like = tools::find_like_net(arguments, net.inference_net());
  preparer_.emplace(tools::image_preparation(arguments, like, shape_));
  if (net.finds_objects())
    names_ = tools::detection_names(arguments, like);
  else if (net.scores_classes())
    names_ = names_of_classes(arguments, like, net.shape_of(net.output()).count());
}

std::string Answers::name_of(int label) const {
  const auto found = names_.find(label);
  return found == names_.end() ? std::to_string(label) : found->second;
}

Json Answers::classes() const {
  const std::vector<float> scores = net_.read(net_.output());
  const std::vector<double> shares = tools::is_distribution(scores.data(), scores.size())
                                         ? std::vector<double>(scores.begin(), scores.end())
                                         : tools::softmax(scores.data(), scores.size());
  Json list = Json::array();
  for (const tools::Guess& guess : tools::best(shares, top_))
    list.push_back({{"label", guess.label}, {"name", name_of(guess.label)}, {"probability", guess.probability}});
  return list;
}

Json Answers::objects() const {
  Json list = Json::array();
  for (const tools::Found& found : tools::objects_in(net_.read(net_.output()), kLeastScore)) {
    if (list.size() >= kMaxObjects) break;
    list.push_back({{"label", found.label},
                    {"name", name_of(found.label)},
                    {"score", found.score},
                    {"box", {found.box.x0, found.box.y0, found.box.x1, found.box.y1}}});
  }
  return list;
}

Json Answers::of(const std::string& path) {
  const std::string content = read_file(path, data::kMaxImageFileBytes);
  try {
    if (!data::is_served_image(content))
      throw data::SampleError("it is not a " + data::served_image_formats() + " file");
    decoder_.decode(content, data::ColorMode::kAsStored, image_);
  } catch (const data::SampleError& error) {
    return {{"error", std::string("not an image that can be read: ") + error.what()}};
  }
  std::vector<float> pixels(size_t(shape_.count()));
  try {
    preparer_->prepare_content(content, int(shape_[1]), int(shape_[2]), int(shape_[3]), pixels.data());
  } catch (const data::SampleError& error) {
    return {{"error", error.what()}};
  }
  net_.run(pixels);
  Json answer = {{"size", {image_.width, image_.height}}};
  if (net_.finds_objects())
    answer["objects"] = objects();
  else if (net_.scores_classes())
    answer["classes"] = classes();
  return answer;
}

}  // namespace cortado::studio
