// Affinity (OpenCL Caffe): the affinity of neighbouring pixels, for MalisLoss. From each bottom N x C x H x W it reads
// one channel p and makes a top N x 2 x H x W:
//     y[0](h, w) = min(p(h, w), p(h + 1, w)),  y[1](h, w) = min(p(h, w), p(h, w + 1))
// except in the last row and the last column, which are 0. The gradient goes to the smaller of the two, the neighbour
// if they are equal. OpenCL Caffe also subtracts it from the other one of two channels, which doubles the gradient of a
// softmax before this layer; and it has only the first image.

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/needs.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int kAffinityEdges = 2;  ///< down, right

/// One channel of x, N x C x H x W.
struct AffinityPlane {
  const float* x;
  int64_t channels, channel, height, width;

  CORTADO_HD int64_t at(int64_t image, int64_t h, int64_t w) const {
    return ((image * channels + channel) * height + h) * width + w;
  }
  CORTADO_HD bool has_edges(int64_t h, int64_t w) const { return h >= 0 && w >= 0 && h < height - 1 && w < width - 1; }
  /// Whether the edge from this pixel has the pixel's own value; NaN counts as smaller.
  CORTADO_HD bool takes_own(int edge, int64_t image, int64_t h, int64_t w) const {
    const float own = x[at(image, h, w)], next = x[at(image, h + (edge == 0), w + (edge == 1))];
    return own < next || own != own;
  }
};

struct AffinityForward {
  AffinityPlane plane;
  float* y;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t w = i % plane.width, h = i / plane.width % plane.height, outer = i / plane.width / plane.height;
    const int edge = int(outer % kAffinityEdges);
    const int64_t image = outer / kAffinityEdges;
    if (!plane.has_edges(h, w)) {
      y[i] = 0;
      return;
    }
    const bool own = plane.takes_own(edge, image, h, w);
    y[i] = plane.x[own ? plane.at(image, h, w) : plane.at(image, h + (edge == 0), w + (edge == 1))];
  }
};

struct AffinityBackward {
  AffinityPlane plane;
  const float* dy;  ///< null: zeros
  float* dx;
  CORTADO_HD float slope(int edge, int64_t image, int64_t h, int64_t w) const {
    return dy[((image * kAffinityEdges + edge) * plane.height + h) * plane.width + w];
  }
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t w = i % plane.width, h = i / plane.width % plane.height, outer = i / plane.width / plane.height;
    const int64_t image = outer / plane.channels;
    float sum = 0;
    for (int edge = 0; edge < kAffinityEdges && dy && outer % plane.channels == plane.channel; ++edge) {
      if (plane.has_edges(h, w) && plane.takes_own(edge, image, h, w)) sum += slope(edge, image, h, w);
      const int64_t up = h - (edge == 0), left = w - (edge == 1);  // the edge that ends here
      if (plane.has_edges(up, left) && !plane.takes_own(edge, image, up, left)) sum += slope(edge, image, up, left);
    }
    dx[i] = sum;
  }
};

class AffinityLayer : public Layer {
 public:
  explicit AffinityLayer(const LayerOptions& options)
      : param_(options.config.affinity_param()), tops_(size_t(options.config.top_size())) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (tops_ != x.size())
      throw FieldError("top",
                       "the layer has " + count_of(int64_t(x.size()), "bottom", "bottoms") + " and " +
                           count_of(int64_t(tops_), "top", "tops"),
                       "give each bottom one top");
    LayerShapes shapes;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i].axes() != 4)
        throw FieldError(entry("bottom", int64_t(i)), "its shape is " + x[i].str() + "; Affinity needs N x C x H x W");
      if (channel(i) < 0 || channel(i) >= x[i][1])
        throw FieldError(
            int(i) < param_.offset_size() ? entry("affinity_param.offset", int64_t(i)) : entry("bottom", int64_t(i)),
            "channel " + std::to_string(channel(i)) + " does not exist in " + x[i].str());
      shapes.y.push_back({x[i][0], kAffinityEdges, x[i][2], x[i][3]});
    }
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override { return needs_of_all_x(request); }

  void forward(Context& context, const Operands& io) override {
    for (size_t i = 0; i < io.x.size(); ++i)
      for_each(context, io.y[i].count(), AffinityForward{plane(io, i), io.y[i].f32()});
  }

  void backward(Context& context, const Operands& io) override {
    for (size_t i = 0; i < io.x.size(); ++i)
      if (io.dx[i])
        for_each(context, io.dx[i].count(),
                 AffinityBackward{plane(io, i), io.dy[i] ? io.dy[i].f32() : nullptr, io.dx[i].f32()});
  }

 private:
  int64_t channel(size_t i) const { return int(i) < param_.offset_size() ? param_.offset(int(i)) : 0; }
  AffinityPlane plane(const Operands& io, size_t i) const {
    const Shape& shape = io.x[i].shape();
    return {io.x[i].f32(), shape[1], channel(i), shape[2], shape[3]};
  }

  const caffe::AffinityParameter& param_;
  size_t tops_;
};

const RegisterLayer register_affinity({
    .name = "Affinity",
    .help = "the affinity of neighbouring pixels: the smaller of their values (OpenCL Caffe)",
    .options = "affinity_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<AffinityLayer>,
});

}  // namespace

}  // namespace cortado
