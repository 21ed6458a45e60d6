// A loss that is not part of the program: one file adds it (added_loss.cu). It trains, counts as a loss without a
// loss_weight, and is replaced by its answer layer in deploy nets.

#include <gtest/gtest.h>

#include "graph/deploy.h"
#include "net/net.h"

namespace cortado {
namespace {

const std::string kNet = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
  layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 dim: 2 } } }
  layer { name: "product" type: "InnerProduct" bottom: "data" top: "product"
          inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 0.5 } } }
  layer { name: "loss" type: "TestFourthPowerLoss" bottom: "product" bottom: "label" top: "loss" })";
const std::vector<float> kData = {1, -2, 0.5f, 0.25f, 1.5f, -1}, kLabel = {1, 0, -1, 2};

std::unique_ptr<Net> net_in(Context& context) {
  graph::BuildOptions options;
  options.verify = true;
  options.keep = {"product"};
  auto net = make_net(std::make_shared<NetFile>(read_net_from_text(kNet, "net")), options, context);
  net->write_blob("data", kData.data());
  net->write_blob("label", kLabel.data());
  net->forward();
  return net;
}

TEST(AddedLoss, MatchesItsCurve) {
  Context context(1);
  const auto net = net_in(context);
  const std::vector<float> y = net->read_blob("product");
  double expected = 0;
  for (size_t i = 0; i < y.size(); ++i) expected += std::pow(double(y[i]) - kLabel[i], 4) / 4 / 2;
  EXPECT_NEAR(net->loss(), expected, 1e-5 * expected);
}

TEST(AddedLoss, GradientMatchesDifferences) {
  Context context(1);
  const auto net = net_in(context);
  net->backward();
  const graph::WeightId id = net->params()[0].id;
  std::vector<float> w(6), dw(6);
  net->read_weight(id, w.data());
  net->read_weight_gradient(id, dw.data());
  const float step = 1e-2f;
  for (size_t i = 0; i < w.size(); ++i) {
    double loss[2];
    for (int side : {0, 1}) {
      std::vector<float> moved = w;
      moved[i] += side == 0 ? -step : step;
      net->write_weight(id, moved.data());
      net->forward();
      loss[side] = net->loss();
    }
    const double slope = (loss[1] - loss[0]) / (2 * step);
    EXPECT_NEAR(dw[i], slope, 0.01 * std::abs(slope) + 0.01) << i;
  }
}

TEST(AddedLoss, IsReplacedByItsAnswerInDeployNets) {
  const graph::Deployed made = graph::make_deploy_net(read_net_from_text(kNet, "net"), {});
  EXPECT_EQ(made.net.layer().rbegin()->type(), "Sigmoid");
  EXPECT_EQ(made.net.DebugString().find("TestFourthPowerLoss"), std::string::npos);
  EXPECT_EQ(made.net.DebugString().find("\"label\""), std::string::npos);
}

}  // namespace
}  // namespace cortado
