// Layer types that classes in Python compute.
#include "proto/files/python_types.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

constexpr char kNet[] = R"(name: "n"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 } } }
layer { name: "a" type: "Mine" bottom: "data" top: "a" mine_param { margin: 2 # a comment
  inner < x: "}" > } # }
  }
layer { name: "b" type: "Mine" bottom: "data" top: "b" }
layer { name: "c" type: "Other" bottom: "data" top: "c" other_param { x: 1 } }
layer { name: "d" type: "ReLU" bottom: "data" top: "d" relu_param { negative_slope: 0.5 } }
layer { name: "e" type: "Mine" bottom: "data" top: "e" mine_param { } python_param { param_str: "given" } }
)";

NetFile net_with(const std::vector<std::string>& texts) {
  const std::string path = ::testing::TempDir() + "/python_types.prototxt";
  FILE* file = fopen(path.c_str(), "w");
  fputs(kNet, file);
  fclose(file);
  NetFile net = read_net_draft(path);
  PythonTypes(texts, "--layer").apply(net);
  return net;
}

TEST(PythonTypes, ReplaceLayersOfATypeAndKeepTheirOptionsAsText) {
  const NetFile file = net_with({"Mine=package.module.Mine", "ReLU=mod.Relu"});
  const caffe::LayerParameter &a = file.net.layer(1), &b = file.net.layer(2), &d = file.net.layer(4);
  EXPECT_EQ(a.type(), "Python");
  EXPECT_EQ(a.python_param().module(), "package.module");
  EXPECT_EQ(a.python_param().layer(), "Mine");
  EXPECT_EQ(a.python_param().param_str(), "margin: 2 # a comment\n  inner < x: \"}\" >");
  EXPECT_EQ(a.bottom(0), "data");
  EXPECT_FALSE(b.python_param().has_param_str());
  EXPECT_EQ(d.python_param().param_str(), "negative_slope: 0.5\n");
  EXPECT_EQ(file.net.layer(5).python_param().param_str(), "given");
  ASSERT_EQ(file.mistakes.size(), 1U) << "the other type keeps its error";
  EXPECT_NE(file.mistakes[0].mistake.message.find("other_param"), std::string::npos);
}

TEST(PythonTypes, RefuseOtherTexts) {
  for (const char* text : {"Mine", "Mine=", "=a.B", "Mine=B", "Mine=.B", "Mine=a."}) {
    expect_error([&] { net_with({text}); }, ExitCode::kUsage, std::string("--layer=") + text);
  }
}

}  // namespace
}  // namespace cortado
