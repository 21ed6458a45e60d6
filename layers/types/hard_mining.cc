// HardMining (Cascade R-CNN): online hard example mining. Bottoms are a loss for each region, regions R x 5
// (common/regions.h), and others with R rows, for example labels and targets. Each top has the selected rows of its
// bottom, from the second on, in order. The layer has no gradient.
//
// Selected are the num_roi_per_image regions of each image with the largest losses (the first of equals), then those of
// any image, until there are num_image num_roi_per_image, or R if R is less.
//
// A row whose image is not one of num_image is an error (validate()); forward selects it last, as it does a NaN loss.

#include <algorithm>
#include <cmath>
#include <map>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/row_copies.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int64_t kHardMiningMostRows = int64_t(1) << 31;

class HardMiningLayer : public Layer {
 public:
  explicit HardMiningLayer(const LayerOptions& options) : param_(options.config.hard_mining_param()) {
    const std::string field = "hard_mining_param.";
    if (param_.num_roi_per_image() == 0)
      throw FieldError(field + "num_roi_per_image", "it is 0", "set the number of regions to keep of each image");
    if (param_.num_image() == 0)
      throw FieldError(field + "num_image", "it is 0", "set the number of images of a batch");
    if (options.config.bottom_size() != options.config.top_size() + 1)
      throw FieldError("top",
                       "the layer has " + count_of(options.config.bottom_size(), "bottom", "bottoms") + " and " +
                           count_of(options.config.top_size(), "top", "tops"),
                       "give each bottom except the first, the losses, one top");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_region_rows(x, 1);
    regions_ = x[1][0];
    if (x[0].count() != regions_)
      throw FieldError("bottom[0]",
                       "its shape is " + x[0].str() + ", but there are " + std::to_string(regions_) + " regions",
                       "each region needs one loss");
    const int64_t wanted = int64_t(param_.num_image()) * int64_t(param_.num_roi_per_image());
    selected_ = std::min({regions_, wanted, kHardMiningMostRows});
    return {.y = with_rows({x.begin() + 1, x.end()}, selected_), .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    for (std::vector<int64_t>* list : {&order_, &picked_}) list->reserve(size_t(regions_));
    left_.reserve(size_t(regions_));
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    const HostView losses(context, io.x[0].f32(), regions_), rows(context, io.x[1].f32(), 5 * regions_);
    pick(losses.data(), rows.data());
    stages_.resize(io.y.size());
    for (size_t k = 0; k < io.y.size(); ++k) copy_rows(context, io.x[k + 1], picked_, stages_[k], io.y[k]);
  }

  void validate(Context& context, const Operands& io) override {
    const HostView rows(context, io.x[1].f32(), 5 * regions_);
    for (int64_t r = 0; r < regions_; ++r)
      if (const float image = rows.data()[5 * r]; !is_image(image))
        throw Error(ExitCode::kData, "region " + std::to_string(r) + " is of image " + to_text(image),
                    "num_image is " + std::to_string(param_.num_image()));
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  bool is_image(float v) const { return v >= 0 && v < float(param_.num_image()) && v == std::floor(v); }

  void pick(const float* losses, const float* rows) {
    order_.resize(size_t(regions_));
    for (int64_t r = 0; r < regions_; ++r) order_[size_t(r)] = r;
    const auto harder = [losses](int64_t a, int64_t b) {
      const float of_a = std::isnan(losses[a]) ? -INFINITY : losses[a];
      const float of_b = std::isnan(losses[b]) ? -INFINITY : losses[b];
      return of_a > of_b || (of_a == of_b && a < b);
    };
    std::sort(order_.begin(), order_.end(), harder);
    picked_.clear(), left_.clear();
    taken_.clear();
    for (const int64_t r : order_) {
      const bool takes = is_image(rows[5 * r]) && taken_[int64_t(rows[5 * r])]++ < int64_t(param_.num_roi_per_image());
      (takes ? picked_ : left_).push_back(r);
    }
    std::stable_partition(left_.begin(), left_.end(), [&](int64_t r) { return is_image(rows[5 * r]); });
    picked_.resize(size_t(std::min<int64_t>(int64_t(picked_.size()), selected_)));
    const auto missing = int64_t(selected_) - int64_t(picked_.size());
    picked_.insert(picked_.end(), left_.begin(), left_.begin() + missing);
    std::sort(picked_.begin(), picked_.end());
  }

  const caffe::HardMiningParameter& param_;
  int64_t regions_ = 0, selected_ = 0;
  std::vector<int64_t> order_, picked_, left_;
  std::map<int64_t, int64_t> taken_;  ///< of each image
  std::vector<HostStage> stages_;
};

const RegisterLayer register_hard_mining({
    .name = "HardMining",
    .help = "the regions with the largest losses (Cascade R-CNN)",
    .options = "hard_mining_param",
    .min_bottoms = 2,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<HardMiningLayer>,
});

}  // namespace

}  // namespace cortado
