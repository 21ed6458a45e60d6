#pragma once

// The results of a training pass, for nets that must agree bit for bit.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

struct TrainedPass {
  double loss = 0;
  std::vector<std::vector<float>> dw;
  std::string statistics;  ///< weights that layers update by themselves, after the pass
};

inline std::string statistics_of(Net& net) {
  std::string statistics;
  const caffe::NetParameter weights = net.to_proto();
  for (const caffe::LayerParameter& layer : weights.layer())
    if (layer.type() == "BatchNorm") statistics += layer.SerializeAsString();
  return statistics;
}

inline void expect_same_bits(const TrainedPass& a, const TrainedPass& b) {
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.statistics, b.statistics);
  ASSERT_EQ(a.dw.size(), b.dw.size());
  for (size_t p = 0; p < a.dw.size(); ++p) EXPECT_EQ(a.dw[p], b.dw[p]) << "param " << p;
}

}  // namespace cortado
