// Which nets may batch rows of several clients.

#include "server/models/row_probe.h"

#include <gtest/gtest.h>

namespace cortado::server {
namespace {

/// Whether a net with an input of 1 x 3 and these layers may.
bool may_join(const std::string& layers) {
  const std::string input = "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 } } }\n";
  Predictor predictor(TrainedModel{std::make_shared<NetFile>(read_net_from_text(input + layers, "net.prototxt")), {}},
                      {.context = {.threads = 1}, .batch = 1});
  return computes_rows_alone(predictor);
}

TEST(RowProbe, independent_rows_are_joined) {
  EXPECT_TRUE(may_join("layer { name: 'y' type: 'Softmax' bottom: 'x' top: 'y' }"));
  EXPECT_TRUE(may_join("layer { name: 'y' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 2 } }"));
}

TEST(RowProbe, dependent_rows_are_not_joined) {
  EXPECT_FALSE(may_join("layer { name: 'y' type: 'Softmax' bottom: 'x' top: 'y' softmax_param { axis: 0 } }"));
}

TEST(RowProbe, an_output_needs_a_row_for_each) {
  EXPECT_FALSE(may_join("layer { name: 'y' type: 'Reduction' bottom: 'x' top: 'y' }"));
  EXPECT_FALSE(
      may_join("layer { name: 'y' type: 'Reshape' bottom: 'x' top: 'y' reshape_param { shape { dim: 3 "
               "dim: -1 } } }"));
  EXPECT_FALSE(
      may_join("layer { name: 'y' type: 'Softmax' bottom: 'x' top: 'y' }"
               "layer { name: 'z' type: 'Reduction' bottom: 'x' top: 'z' }"));
}

}  // namespace
}  // namespace cortado::server
