// CPMData (Realtime Multi-Person Pose Estimation, Cao et al. 2017): pictures of people, and the maps of their joints
// and limbs that OpenPose learns, from a database (types/pose_people.h). With P = num_parts, J joints and L limbs, P =
// J + 2 L, the tops are
//   pictures N x 6 x crop_size_y x crop_size_x: (value - 128) / 256; three channels are 0
//   labels N x 2 (P + 1) x h x w, stride times smaller. P + 1 channels are weights, from 0 where people are not
//   labelled
//     to 1; those below J are 0 if the joint of this number is never labelled. Then, for each limb, two channels have
//     the unit vector from its first end to its second one, for each joint one has max 1 of the sum over people of
//     exp(-d^2 / (2 sigma^2)), where d is the distance in pixels and terms below 0.01 are left out, and the last one
//     has 1 - the maximum of these.
// A limb covers the positions within 1 position of the line through its ends, in the rectangle around them that is
// larger by 1. Of several people the last counts, as in the published training; the paper averages. Limbs without
// length are left out.
//
// A sample shows the record's person in the middle, scaled by target_dist / its scale. In training, in this order: with
// scale_prob the scale is multiplied by scale_min to scale_max; the picture is rotated by up to max_rotate_degree; the
// middle moves by up to center_perterb_max pixels; with flip_prob all is mirrored. Outside of the picture, pixels are
// 128 and weights 1. The original rounds pixels after each step; here they are sampled once, by cubic convolution. In
// tests the original has no labels; here nothing is drawn. The draws are a function of (seed, position).

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "data/lmdb/lmdb.h"
#include "data/sources/datum_reader.h"
#include "data/sources/lmdb_source.h"
#include "layers/common/data/float_image.h"
#include "layers/common/data/record_layer.h"
#include "layers/registry.h"
#include "layers/types/object_images.h"
#include "layers/types/pose_people.h"

namespace cortado {

namespace {

constexpr uint64_t kCpmDataKey = 0x43504D44415441ull;  // separates these draws from others with the same seed
constexpr int64_t kCpmChannels = 6;
constexpr double kCpmLeastTerm = 0.01;
const std::string kCpmOwn = "cpm_transform_param.";

struct CpmSize {
  int64_t height, width;
};

/// How a record becomes a sample: pixel (x, y) of the record is at forth(x, y).
struct CpmView {
  data::Affine forth, back;
  bool flip = false;
};

data::Affine inverse(const data::Affine& map) {
  const double* m = map.m;
  const double d = m[0] * m[4] - m[1] * m[3];
  return {{m[4] / d, -m[1] / d, (m[1] * m[5] - m[4] * m[2]) / d, -m[3] / d, m[0] / d, (m[3] * m[2] - m[0] * m[5]) / d}};
}

class CpmDataLayer : public RecordLayer {
 public:
  explicit CpmDataLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>&) override;
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context& context, const Operands& io) override;

 private:
  void check_options() const;
  void read(uint64_t place);
  CpmView draw(RandomStream& stream) const;
  void move_people(const CpmView& view);
  void show(Context& context, const CpmView& view, float* pixels, float* labels);
  void write_maps(float* to) const;
  void add_joint(const Joint& joint, float* map) const;
  void write_limb(const Joint& from, const Joint& to, float* x, float* y) const;

  const caffe::CPMTransformationParameter& param_;
  const caffe::DataParameter& data_;
  bool open_data_, training_;
  uint64_t seed_;
  const Skeleton* skeleton_;
  CpmSize size_, grid_;
  std::shared_ptr<const data::DataSource> source_;
  std::unique_ptr<data::RecordFinder> finder_;
  data::DatumReader reader_;
  FloatImage picture_, known_, shown_, weights_;
  PeopleRecord record_ = {};
  HostStage pixels_, labels_;
};

CpmDataLayer::CpmDataLayer(const LayerOptions& options)
    : RecordLayer(options.share, int64_t(options.config.data_param().batch_size())),
      param_(options.config.cpm_transform_param()),
      data_(options.config.data_param()),
      open_data_(options.open_data),
      training_(options.phase == caffe::TRAIN),
      seed_(options.seed),
      skeleton_(find_skeleton(param_.num_parts())),
      size_{param_.crop_size_y(), param_.crop_size_x()} {
  check_options();
  grid_ = {size_.height / param_.stride(), size_.width / param_.stride()};
}

void CpmDataLayer::check_options() const {
  if (data_.source().empty()) throw FieldError("data_param.source", "the dataset is not set");
  require_between("data_param.batch_size", data_.batch_size(), 1, 1 << 16);
  if (data_.shuffle() || data_.rand_skip() > 0)
    throw FieldError(data_.shuffle() ? "data_param.shuffle" : "data_param.rand_skip", "CPMData reads records in order",
                     "remove it, and shuffle the database");
  if (!skeleton_)
    throw FieldError(kCpmOwn + "num_parts", "it is " + std::to_string(param_.num_parts()),
                     "set 56, the maps of COCO's people, or 43, of MPI's");
  require_between(kCpmOwn + "np_in_lmdb", param_.np_in_lmdb(), skeleton_->joints == 18 ? 17 : 16, 64);
  require_between(kCpmOwn + "stride", param_.stride(), 1, kObjectMostSide);
  for (const auto& [side, name] :
       {std::pair(param_.crop_size_x(), "crop_size_x"), {param_.crop_size_y(), "crop_size_y"}}) {
    require_between(kCpmOwn + name, side, 1, kObjectMostSide);
    if (side % param_.stride() != 0)
      throw FieldError(kCpmOwn + name, "it is " + std::to_string(side) +
                                           ", not a multiple of stride: " + std::to_string(param_.stride()));
  }
  const auto refuse = [](bool is_set, const std::string& name, const std::string& hint) {
    if (is_set) throw FieldError(kCpmOwn + name, "it is not supported", hint);
  };
  refuse(param_.crop_size() > 0, "crop_size", "set crop_size_x and crop_size_y");
  refuse(param_.do_clahe(), "do_clahe", "remove it");
  refuse(param_.visualize(), "visualize", "remove it");
  refuse(param_.aug_way() != "rand", "aug_way", "set \"rand\": tables of draws are not read");
  refuse(!param_.transform_body_joint(), "transform_body_joint", "remove it: hands have no label maps");
  const auto require_number = [](float value, const std::string& name, float least, float most) {
    if (!(value >= least && value <= most))
      throw FieldError(kCpmOwn + name,
                       "it is " + to_text(value) + ", but must be in [" + to_text(least) + ", " + to_text(most) + "]");
  };
  require_number(param_.flip_prob(), "flip_prob", 0, 1);
  require_number(param_.scale_prob(), "scale_prob", 0, 1);
  require_number(param_.max_rotate_degree(), "max_rotate_degree", 0, 180);
  require_number(param_.scale_min(), "scale_min", 1 / kObjectMostScaling, kObjectMostScaling);
  require_number(param_.scale_max(), "scale_max", param_.scale_min(), kObjectMostScaling);
  require_number(param_.target_dist(), "target_dist", 1 / kObjectMostScaling, kObjectMostScaling);
  require_number(param_.center_perterb_max(), "center_perterb_max", 0, kObjectMostSide);
  require_number(param_.sigma(), "sigma", 1 / kObjectMostScaling, kObjectMostSide);
}

LayerShapes CpmDataLayer::infer(const std::vector<Shape>&) {
  if (open_data_ && !source_) {
    source_ = data::lmdb_source(data::Lmdb::open(data_.source()));
    finder_ = source_->finder(false);
  }
  const int64_t batch = data_.batch_size();
  return {.y = {{batch, kCpmChannels, size_.height, size_.width},
                {batch, 2 * (skeleton_->parts() + 1), grid_.height, grid_.width}},
          .w = {}};
}

/// Reads the picture, the mask and the people of a record.
void CpmDataLayer::read(uint64_t place) {
  const data::Record record = finder_->find(place % uint64_t(source_->records()));
  try {
    source_->prefetch(record);
    data::Label label = 0;
    const data::Sample sample = reader_.read(record, label);
    if (sample.channels != kCpmChannels || !sample.bytes || sample.interleaved)
      throw data::SampleError("its shape is " + sample.shape_str() + ", but records need 6 channels of bytes",
                              "create the database with the scripts for COCO or MPI");
    read_people(sample, param_.np_in_lmdb(), *skeleton_, record_);
    const int64_t pixels = int64_t(sample.height) * sample.width;
    picture_.resize(3, sample.height, sample.width);
    known_.resize(1, sample.height, sample.width);
    std::copy_n(sample.bytes, 3 * pixels, picture_.values.begin());
    std::copy_n(sample.bytes + 4 * pixels, pixels, known_.values.begin());
  } catch (const data::SampleError& error) {
    source_->fail(record, error);
  }
  if (param_.gray() != 1) return;
  const int64_t pixels = picture_.height * picture_.width;
  for (int64_t i = 0; i < pixels; ++i) {
    float* const at = picture_.values.data() + i;
    at[0] = at[pixels] = at[2 * pixels] = 0.114f * at[0] + 0.587f * at[pixels] + 0.299f * at[2 * pixels];
  }
}

CpmView CpmDataLayer::draw(RandomStream& stream) const {
  const auto unit = [&] { return training_ ? double(stream.uniform()) : 0.5; };
  double factor = double(param_.target_dist()) / record_.scale;
  if (training_ && stream.uniform() < param_.scale_prob())
    factor *= param_.scale_min() + (double(param_.scale_max()) - double(param_.scale_min())) * unit();
  factor = std::clamp(factor, 1.0 / double(kObjectMostScaling), double(kObjectMostScaling));
  const double turn = (2 * unit() - 1) * double(param_.max_rotate_degree()) * std::numbers::pi / 180;
  const data::Affine scaled{{factor, 0, 0, 0, factor, 0}},
      turned{{std::cos(turn), std::sin(turn), 0, -std::sin(turn), std::cos(turn), 0}};
  CpmView view;
  view.forth = turned.after(scaled);
  const double* m = view.forth.m;
  const double moved_x = std::trunc((2 * unit() - 1) * double(param_.center_perterb_max()));
  const double moved_y = std::trunc((2 * unit() - 1) * double(param_.center_perterb_max()));
  const double x = std::round(m[0] * record_.x + m[1] * record_.y + moved_x) - double(size_.width / 2);
  const double y = std::round(m[3] * record_.x + m[4] * record_.y + moved_y) - double(size_.height / 2);
  view.forth = data::Affine{{1, 0, -x, 0, 1, -y}}.after(view.forth);
  view.flip = training_ && stream.uniform() < param_.flip_prob();
  if (view.flip) view.forth = data::Affine{{-1, 0, double(size_.width - 1), 0, 1, 0}}.after(view.forth);
  // cv::resize scales around the corner of the first pixel, but joints around its centre.
  const double half = (factor - 1) / 2;
  const data::Affine corner{{1, 0, -half / factor, 0, 1, -half / factor}};
  view.back = corner.after(inverse(view.forth));
  return view;
}

/// Moves joints as the view does.
void CpmDataLayer::move_people(const CpmView& view) {
  const double* m = view.forth.m;
  for (Person& person : record_.people) {
    for (Joint& joint : person)
      joint = {m[0] * joint.x + m[1] * joint.y + m[2], m[3] * joint.x + m[4] * joint.y + m[5], joint.state};
    if (!view.flip) continue;
    for (const auto& [right, left] : skeleton_->sides) std::swap(person[size_t(right)], person[size_t(left)]);
  }
}

void CpmDataLayer::show(Context& context, const CpmView& view, float* pixels, float* labels) {
  warp(context, picture_, view.back, {.repeat_edge = false, .fill = 128}, size_.height, size_.width, shown_);
  for (const float value : shown_.values) *pixels++ = (std::clamp(value, 0.0f, 255.0f) - 128) / 256;
  const double stride = param_.stride(), first = (stride - 1) / 2;
  const data::Affine to_pixels{{stride, 0, first, 0, stride, first}};
  warp(context, known_, view.back.after(to_pixels), {.repeat_edge = false, .fill = 255}, grid_.height, grid_.width,
       weights_);
  const int64_t parts = skeleton_->parts(), places = grid_.height * grid_.width;
  for (int64_t c = 0; c <= parts; ++c) {
    const bool known = c >= int64_t(skeleton_->joints) || record_.people[0][size_t(c)].state != Joint::kNeverLabelled;
    for (int64_t i = 0; i < places && known; ++i)
      labels[c * places + i] = std::clamp(weights_.values[size_t(i)] / 255, 0.0f, 1.0f);
  }
  write_maps(labels + (parts + 1) * places);
}

/// Writes the maps of limbs, of joints and of the background into zeros.
void CpmDataLayer::write_maps(float* to) const {
  const int64_t places = grid_.height * grid_.width;
  const auto is_shown = [](const Joint& joint) { return joint.state == Joint::kShown; };
  for (const auto& [from, end] : skeleton_->limbs) {
    for (const Person& person : record_.people)
      if (const Joint& a = person[size_t(from)], &b = person[size_t(end)]; is_shown(a) && is_shown(b))
        write_limb(a, b, to, to + places);
    to += 2 * places;
  }
  float* background = to + int64_t(skeleton_->joints) * places;
  std::fill_n(background, places, 1.0f);
  for (size_t j = 0; j < skeleton_->joints; ++j, to += places) {
    for (const Person& person : record_.people)
      if (is_shown(person[j])) add_joint(person[j], to);
    for (int64_t i = 0; i < places; ++i) background[i] = std::min(background[i], 1 - to[i]);
  }
}

void CpmDataLayer::add_joint(const Joint& joint, float* map) const {
  const double stride = param_.stride(), first = (stride - 1) / 2, sigma = double(param_.sigma());
  for (int64_t h = 0; h < grid_.height; ++h)
    for (int64_t w = 0; w < grid_.width; ++w) {
      const double x = first + double(w) * stride - joint.x, y = first + double(h) * stride - joint.y;
      const double term = std::exp(-(x * x + y * y) / (2 * sigma * sigma));
      if (term < kCpmLeastTerm) continue;
      float& at = map[h * grid_.width + w];
      at = std::min(1.0f, at + float(term));
    }
}

void CpmDataLayer::write_limb(const Joint& from, const Joint& to, float* x, float* y) const {
  constexpr double kReach = 1;
  const double stride = param_.stride(), ax = from.x / stride, ay = from.y / stride, bx = to.x / stride,
               by = to.y / stride;
  const double length = std::hypot(bx - ax, by - ay);
  if (!(length > 0)) return;
  const double ux = (bx - ax) / length, uy = (by - ay) / length;
  const auto edge = [](double at, int64_t most) { return int64_t(std::clamp(std::round(at), 0.0, double(most))); };
  for (int64_t h = edge(std::min(ay, by) - kReach, grid_.height); h < edge(std::max(ay, by) + kReach, grid_.height);
       ++h)
    for (int64_t w = edge(std::min(ax, bx) - kReach, grid_.width); w < edge(std::max(ax, bx) + kReach, grid_.width);
         ++w) {
      if (std::fabs((double(w) - ax) * uy - (double(h) - ay) * ux) > kReach) continue;
      x[h * grid_.width + w] = float(ux), y[h * grid_.width + w] = float(uy);
    }
}

void CpmDataLayer::forward(Context& context, const Operands& io) {
  float* pixels = pixels_.begin(context, io.y[0].f32(), io.y[0].count());
  std::fill_n(pixels, io.y[0].count(), 0.0f);
  float* labels = labels_.begin(context, io.y[1].f32(), io.y[1].count());
  std::fill_n(labels, io.y[1].count(), 0.0f);
  for (int64_t n = 0; n < int64_t(data_.batch_size()); ++n) {
    const uint64_t place = cursor_.place() + uint64_t(n);
    RandomStream stream(mix_key(mix_key(seed_, kCpmDataKey), place));
    read(place);
    const CpmView view = draw(stream);
    move_people(view);
    show(context, view, pixels + n * io.y[0].shape().count(1), labels + n * io.y[1].shape().count(1));
  }
  pixels_.commit(context);
  labels_.commit(context);
  source_->check_unchanged();
  cursor_.advance();
}

const RegisterLayer register_cpm_data({
    .name = "CPMData",
    .help = "pictures of people and the maps of their joints and limbs, from a dataset (LMDB) of OpenPose's training",
    .options = "cpm_transform_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 2,
    .max_tops = 2,
    .make = make_layer<CpmDataLayer>,
    .kind = LayerKind::kData,
    .batch_fields = {"data_param.batch_size"},
});

}  // namespace

}  // namespace cortado
