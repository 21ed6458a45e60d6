// The lines of debug_info, compared with the same net in double precision. Every number must be that of its tensor at
// that time, although memory is shared and weights may be overwritten by the end of backward.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "core/rng.h"
#include "net/net.h"

namespace cortado {
namespace {

/// A convolution with a ReLU in place, a pooling with two readers, a normalisation in place, a sum. With five channels
/// most of a block of 16 is padding.
const char* const kNet = R"(
  name: "debugged"
  layer { name: "in" type: "Input" top: "data" top: "label" input_param {
      shape { dim: 3 dim: 2 dim: 8 dim: 6 } shape { dim: 3 } } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
      convolution_param { num_output: 5 kernel_size: 3 pad: 1 weight_filler { type: "xavier" }
      bias_filler { type: "gaussian" std: 0.1 } } }
  layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
  layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
  layer { name: "one" type: "Convolution" bottom: "pool" top: "one"
      convolution_param { num_output: 5 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "bn" type: "BatchNorm" bottom: "one" top: "one" }
  layer { name: "scale" type: "Scale" bottom: "one" top: "one" scale_param { bias_term: true
      filler { type: "uniform" min: 0.5 max: 1.5 } bias_filler { type: "gaussian" std: 0.2 } } }
  layer { name: "sum" type: "Eltwise" bottom: "one" bottom: "pool" top: "sum" }
  layer { name: "relu2" type: "ReLU" bottom: "sum" top: "sum" }
  layer { name: "fc" type: "InnerProduct" bottom: "sum" top: "fc" inner_product_param { num_output: 4
      weight_filler { type: "xavier" } bias_filler { type: "gaussian" std: 0.1 } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
)";

using Values = std::vector<double>;
constexpr int kN = 3, kIn = 2, kC = 5, kH = 8, kW = 6, kPh = kH / 2, kPw = kW / 2, kArea = kPh * kPw, kOut = 4;
constexpr double kEps = 1e-5;
const int kLabels[kN] = {0, 3, 2};

struct Line {
  std::string text;
  double value;
};

double mean_abs(const Values& values) {
  double sum = 0;
  for (const double v : values) sum += std::fabs(v);
  return sum / double(values.size());
}

/// The net in double precision: forward, backward, and the lines to log.
class Reference {
 public:
  Reference(Net& net, const std::vector<float>& data) : data_(data.begin(), data.end()) {
    const caffe::NetParameter weights = net.to_proto();
    for (const caffe::LayerParameter& layer : weights.layer())
      for (const caffe::BlobProto& blob : layer.blobs())
        w_[layer.name()].emplace_back(blob.data().begin(), blob.data().end());
  }

  std::vector<Line> lines() {
    forward();
    backward();
    double l1[2] = {}, squares[2] = {};
    for (const auto& [layer, blobs] : w_)
      for (size_t k = 0; k < blobs.size(); ++k)
        for (size_t i = 0; i < blobs[k].size(); ++i) {
          const double values[] = {blobs[k][i], dw_[layer].size() > k ? dw_[layer][k][i] : 0};
          for (int j = 0; j < 2; ++j) l1[j] += std::fabs(values[j]), squares[j] += values[j] * values[j];
        }
    lines_.push_back({"L1 norm", l1[0]});
    lines_.push_back({"L1 norm of diffs", l1[1]});
    lines_.push_back({"L2 norm", std::sqrt(squares[0])});
    lines_.push_back({"L2 norm of diffs", std::sqrt(squares[1])});
    return lines_;
  }

 private:
  void top(const std::string& layer, const std::string& blob, const Values& values) {
    lines_.push_back({"[Forward] Layer " + layer + ", top blob " + blob + " data", mean_abs(values)});
  }
  void weights(const std::string& layer) {
    for (size_t k = 0; k < w_[layer].size(); ++k)
      lines_.push_back(
          {"[Forward] Layer " + layer + ", param blob " + std::to_string(k) + " data", mean_abs(w_[layer][k])});
  }
  void bottom(const std::string& layer, const std::string& blob, const Values& values) {
    lines_.push_back({"[Backward] Layer " + layer + ", bottom blob " + blob + " diff", mean_abs(values)});
  }
  void gradients(const std::string& layer, std::vector<Values> dw) {
    for (size_t k = 0; k < dw.size(); ++k)
      lines_.push_back({"[Backward] Layer " + layer + ", param blob " + std::to_string(k) + " diff", mean_abs(dw[k])});
    dw_[layer] = std::move(dw);
  }

  static size_t at(int n, int c, int h, int w, int channels, int height, int width) {
    return size_t(((n * channels + c) * height + h) * width + w);
  }

  /// Calls act(y's index, x's index, w's index) for each product of the first convolution.
  template <typename Act>
  static void each_product(const Act& act) {
    for (int n = 0; n < kN; ++n)
      for (int o = 0; o < kC; ++o)
        for (int h = 0; h < kH; ++h)
          for (int w = 0; w < kW; ++w)
            for (int c = 0; c < kIn; ++c)
              for (int i = 0; i < 9; ++i) {
                const int y = h + i / 3 - 1, x = w + i % 3 - 1;
                if (y >= 0 && y < kH && x >= 0 && x < kW)
                  act(at(n, o, h, w, kC, kH, kW), at(n, c, y, x, kIn, kH, kW), size_t((o * kIn + c) * 9 + i));
              }
  }

  /// The same for the second convolution, whose kernel is 1 x 1.
  template <typename Act>
  static void each_small_product(const Act& act) {
    for (int n = 0; n < kN; ++n)
      for (int o = 0; o < kC; ++o)
        for (int c = 0; c < kC; ++c)
          for (int i = 0; i < kArea; ++i)
            act(size_t((n * kC + o) * kArea + i), size_t((n * kC + c) * kArea + i), size_t(o * kC + c));
  }

  static Values relu(Values values) {
    for (double& v : values) v = std::max(v, 0.0);
    return values;
  }
  static Values masked(Values dy, const Values& y) {
    for (size_t i = 0; i < dy.size(); ++i) dy[i] *= y[i] > 0;
    return dy;
  }
  static int channel(size_t i) { return int(i) / kArea % kC; }

  void forward() {
    top("in", "data", data_);
    top("in", "label", Values(kLabels, kLabels + kN));
    conv_.resize(size_t(kN * kC * kH * kW));
    for (size_t i = 0; i < conv_.size(); ++i) conv_[i] = w_["conv"][1][i / (kH * kW) % kC];
    each_product([&](size_t y, size_t x, size_t w) { conv_[y] += data_[x] * w_["conv"][0][w]; });
    top("conv", "conv", conv_), weights("conv");
    conv_ = relu(conv_);
    top("relu", "conv", conv_);
    pool();
    top("pool", "pool", pool_), top("pool_pool_0_split", "pool_pool_0_split_0", pool_),
        top("pool_pool_0_split", "pool_pool_0_split_1", pool_);
    Values one(pool_.size());
    each_small_product([&](size_t y, size_t x, size_t w) { one[y] += pool_[x] * w_["one"][0][w]; });
    top("one", "one", one), weights("one");
    normalise(one);
    top("bn", "one", normal_), weights("bn");
    for (size_t i = 0; i < one.size(); ++i)
      one[i] = normal_[i] * w_["scale"][0][size_t(channel(i))] + w_["scale"][1][size_t(channel(i))];
    top("scale", "one", one), weights("scale");
    for (size_t i = 0; i < one.size(); ++i) one[i] += pool_[i];
    top("sum", "sum", one);
    sum_ = relu(one);
    top("relu2", "sum", sum_);
    product();
  }

  void pool() {
    pool_.assign(size_t(kN * kC * kArea), 0);
    winner_.assign(pool_.size(), 0);
    for (size_t i = 0; i < pool_.size(); ++i) {
      const int plane = int(i) / kArea, h = int(i) % kArea / kPw * 2, w = int(i) % kPw * 2;
      for (int k = 0; k < 4; ++k) {
        const size_t x = size_t((plane * kH + h + k / 2) * kW + w + k % 2);
        if (k == 0 || conv_[x] > pool_[i]) pool_[i] = conv_[x], winner_[i] = x;
      }
    }
  }

  /// BatchNorm's blobs after the first batch: its mean, its unbiased variance, and the divisor 1.
  void normalise(const Values& x) {
    const double count = kN * kArea;
    Values mean(kC), variance(kC);
    for (size_t i = 0; i < x.size(); ++i) mean[size_t(channel(i))] += x[i] / count;
    for (size_t i = 0; i < x.size(); ++i)
      variance[size_t(channel(i))] += std::pow(x[i] - mean[size_t(channel(i))], 2) / count;
    normal_.resize(x.size());
    for (int c = 0; c < kC; ++c) deviation_[c] = std::sqrt(variance[size_t(c)] + kEps);
    for (size_t i = 0; i < x.size(); ++i) normal_[i] = (x[i] - mean[size_t(channel(i))]) / deviation_[channel(i)];
    for (double& v : variance) v *= count / (count - 1);
    w_["bn"] = {mean, variance, {1}};
  }

  void product() {
    const int inner = kC * kArea;
    Values fc(size_t(kN * kOut));
    probability_.resize(fc.size());
    double loss = 0;
    for (int n = 0; n < kN; ++n) {
      double all = 0;
      for (int o = 0; o < kOut; ++o) {
        double& y = fc[size_t(n * kOut + o)] = w_["fc"][1][size_t(o)];
        for (int i = 0; i < inner; ++i) y += sum_[size_t(n * inner + i)] * w_["fc"][0][size_t(o * inner + i)];
        all += std::exp(y);
      }
      for (int o = 0; o < kOut; ++o) probability_[size_t(n * kOut + o)] = std::exp(fc[size_t(n * kOut + o)]) / all;
      loss -= std::log(probability_[size_t(n * kOut + kLabels[n])]) / kN;
    }
    top("fc", "fc", fc), weights("fc"), top("loss", "loss", {loss});
  }

  void backward() {
    const int inner = kC * kArea;
    Values d = probability_;
    for (int n = 0; n < kN; ++n) d[size_t(n * kOut + kLabels[n])] -= 1;
    for (double& v : d) v /= kN;
    bottom("loss", "fc", d);
    Values dsum(sum_.size()), dw(w_["fc"][0].size()), db(kOut);
    for (int n = 0; n < kN; ++n)
      for (int o = 0; o < kOut; ++o) {
        const double dy = d[size_t(n * kOut + o)];
        db[size_t(o)] += dy;
        for (int i = 0; i < inner; ++i) {
          dsum[size_t(n * inner + i)] += dy * w_["fc"][0][size_t(o * inner + i)];
          dw[size_t(o * inner + i)] += dy * sum_[size_t(n * inner + i)];
        }
      }
    bottom("fc", "sum", dsum), gradients("fc", {dw, db});
    dsum = masked(dsum, sum_);
    bottom("relu2", "sum", dsum), bottom("sum", "one", dsum), bottom("sum", "pool_pool_0_split_1", dsum);
    backward_of_one(dsum);
  }

  void backward_of_one(const Values& dsum) {
    Values d = dsum, dscale(kC), dshift(kC);
    for (size_t i = 0; i < d.size(); ++i) {
      dscale[size_t(channel(i))] += d[i] * normal_[i];
      dshift[size_t(channel(i))] += d[i];
      d[i] *= w_["scale"][0][size_t(channel(i))];
    }
    bottom("scale", "one", d), gradients("scale", {dscale, dshift});
    Values mean(kC), product(kC);
    for (size_t i = 0; i < d.size(); ++i) mean[size_t(channel(i))] += d[i] / (kN * kArea);
    for (size_t i = 0; i < d.size(); ++i) product[size_t(channel(i))] += d[i] * normal_[i] / (kN * kArea);
    for (size_t i = 0; i < d.size(); ++i)
      d[i] = (d[i] - mean[size_t(channel(i))] - normal_[i] * product[size_t(channel(i))]) / deviation_[channel(i)];
    bottom("bn", "one", d);
    Values dpool(pool_.size()), dw(w_["one"][0].size());
    each_small_product(
        [&](size_t y, size_t x, size_t w) { dpool[x] += d[y] * w_["one"][0][w], dw[w] += d[y] * pool_[x]; });
    bottom("one", "pool_pool_0_split_0", dpool), gradients("one", {dw});
    for (size_t i = 0; i < dpool.size(); ++i) dpool[i] += dsum[i];
    bottom("pool_pool_0_split", "pool", dpool);
    backward_of_conv(dpool);
  }

  void backward_of_conv(const Values& dpool) {
    Values d(conv_.size()), dw(w_["conv"][0].size()), db(kC);
    for (size_t i = 0; i < dpool.size(); ++i) d[winner_[i]] += dpool[i];
    bottom("pool", "conv", d);
    d = masked(d, conv_);
    bottom("relu", "conv", d);
    each_product([&](size_t y, size_t x, size_t w) { dw[w] += d[y] * data_[x]; });
    for (size_t i = 0; i < d.size(); ++i) db[i / (kH * kW) % kC] += d[i];
    gradients("conv", {dw, db});
  }

  Values data_, conv_, pool_, normal_, sum_, probability_;
  std::vector<size_t> winner_;
  double deviation_[kC] = {};
  std::map<std::string, std::vector<Values>> w_, dw_;
  std::vector<Line> lines_;
};

/// The lines of a log as "TEXT: NUMBER"; the four numbers of the last line become four.
std::vector<Line> lines_of(const std::string& log) {
  std::vector<Line> lines;
  std::istringstream stream(log);
  for (std::string line; std::getline(stream, line);) {
    const size_t begin = line.find("]     [");
    if (begin == std::string::npos) continue;
    const std::string text = line.substr(begin + 6);
    double n[4];
    if (std::sscanf(text.c_str(), "[Backward] All net params (data, diff): L1 norm = (%lf, %lf); L2 norm = (%lf, %lf)",
                    n, n + 1, n + 2, n + 3) == 4) {
      const char* const names[] = {"L1 norm", "L1 norm of diffs", "L2 norm", "L2 norm of diffs"};
      for (int i = 0; i < 4; ++i) lines.push_back({names[i], n[i]});
      continue;
    }
    const size_t colon = text.rfind(": ");
    lines.push_back({text.substr(0, colon), std::atof(text.c_str() + colon + 2)});
  }
  return lines;
}

/// Overwrites each weight and its gradient when it is complete, as an update does.
struct Spoiler : GradientReader {
  Net& net;
  explicit Spoiler(Net& net) : net(net) {}
  void on_complete(size_t p) override {
    const Param& param = net.params()[p];
    for (float* values : {param.w, param.dw}) std::memset(values, 0xFF, size_t(param.count) * sizeof(float));
  }
};

void expect_right_lines(graph::BuildOptions options, int threads, Device device = {}) {
  options.state.set_phase(caffe::TRAIN);
  options.fuse = false;
  Context context({.threads = threads, .device = device});
  const auto net = make_net(std::make_shared<NetFile>(read_net_from_text(kNet, "net.prototxt")), options, context);
  RandomStream random(5);
  std::vector<float> data(size_t(kN * kIn * kH * kW));
  for (float& v : data) v = float(random.normal());
  const float label[] = {0, 3, 2};
  net->write_blob("data", data.data());
  net->write_blob("label", label);
  const std::vector<Line> wanted = Reference(*net, data).lines();
  Spoiler spoiler(*net);
  net->set_debug_info(true);
  testing::internal::CaptureStderr();
  net->forward();
  net->backward(false, options.transient_gradients ? &spoiler : nullptr);
  const std::vector<Line> lines = lines_of(testing::internal::GetCapturedStderr());
  ASSERT_EQ(lines.size(), wanted.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].text, wanted[i].text);
    EXPECT_NEAR(lines[i].value, wanted[i].value, 1e-5 * wanted[i].value) << lines[i].text;
  }
}

TEST(DebugInfo, NumbersMatchTheReference) {
  for (const int threads : {1, 2}) expect_right_lines({}, threads);
}

TEST(DebugInfo, NumbersMatchWithTransientGradientsAndUpdates) {
  graph::BuildOptions options;
  options.transient_gradients = options.recompute = true;
  for (const int threads : {1, 2}) expect_right_lines(options, threads);
}

std::string log_of(Net& net) {
  net.set_debug_info(true);
  testing::internal::CaptureStderr();
  net.forward();
  net.backward();
  return testing::internal::GetCapturedStderr();
}

TEST(DebugInfo, NormsAreOfOnePass) {
  Context context(1);
  const auto net = make_net(std::make_shared<NetFile>(read_net_from_text(
                                "layer { name: 'w' type: 'Parameter' top: 'w' parameter_param { shape { dim: 3 } } }\n"
                                "layer { name: 'size' type: 'Reduction' bottom: 'w' top: 'size' loss_weight: 1 }",
                                "net.prototxt")),
                            {}, context);
  const std::vector<float> w = {1, -2, 4};
  net->write_weight(0, w.data());
  for (int pass = 0; pass < 2; ++pass) {
    const std::string log = log_of(*net);
    EXPECT_NE(log.find("L1 norm = (7, 3); L2 norm = (4.58258, 1.73205)"), std::string::npos) << log;
  }
}

/// A mean is that of the rows that the blob has, not of its memory.
TEST(DebugInfo, MeansAreOfTheRowsThatAreLeft) {
  Context context(1);
  const auto net = make_net(std::make_shared<NetFile>(read_net_from_text(
                                "layer { name: 'in' type: 'Input' top: 'x' top: 's' input_param { shape { dim: 4 dim: "
                                "2 } shape { dim: 4 } } }\n"
                                "layer { name: 'filter' type: 'Filter' bottom: 'x' bottom: 's' top: 'y' }\n"
                                "layer { name: 'abs' type: 'AbsVal' bottom: 'y' top: 'z' }",
                                "net.prototxt")),
                            {}, context);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, s = {0, 1, 0, 1};
  net->write_blob("x", x.data());
  net->write_blob("s", s.data());
  const std::string log = log_of(*net);
  for (const char* line : {"Layer filter, top blob y data: 5.5", "Layer abs, top blob z data: 5.5"})
    EXPECT_NE(log.find(line), std::string::npos) << log;
}

TEST(DebugInfo, AlsoOnDevices) { expect_right_lines({}, 2, {DeviceKind::kSimulated, 0}); }

}  // namespace
}  // namespace cortado
