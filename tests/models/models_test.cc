// Every net of models/ builds in both phases and deployed, and has the paper's number of parameters.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "graph/passes/passes.h"
#include "proto/files/read_text.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

struct Model {
  std::string folder;
  Shape image;         ///< one record of its Data layers
  int64_t train;       ///< trained parameters
  int64_t deploy;      ///< the same of the deployed net, without auxiliary classifiers
  int64_t statistics;  ///< BatchNorm's mean, variance and scale factor, which have no gradients
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.folder; }

std::string path_of(const Model& model, const std::string& file) {
  return in_source("models/") + model.folder + "/" + file + ".prototxt";
}

/// An Input in place of a Data layer: the first top is an image, the second a label.
caffe::LayerParameter input_in_place_of(const caffe::LayerParameter& data, const Shape& image) {
  caffe::LayerParameter input;
  input.set_name(data.name());
  input.set_type("Input");
  *input.mutable_top() = data.top();
  *input.mutable_include() = data.include();
  caffe::BlobShape* shape = input.mutable_input_param()->add_shape();
  for (int64_t dim : image.dims()) shape->add_dim(dim);
  input.mutable_input_param()->add_shape()->add_dim(image[0]);
  return input;
}

graph::Graph build(NetFile file, caffe::Phase phase) {
  graph::BuildOptions options;
  options.state.set_phase(phase);
  options.backward = phase == caffe::TRAIN;
  options.open_data = false;
  graph::Graph graph = graph::build(std::make_shared<const NetFile>(std::move(file)), options);
  graph::run_passes(graph);
  return graph;
}

graph::Graph build_without_data(const Model& model, caffe::Phase phase) {
  NetFile file = read_net(path_of(model, "train_val"));
  for (caffe::LayerParameter& layer : *file.net.mutable_layer())
    if (layer.type() == "Data") layer = input_in_place_of(layer, model.image);
  return build(std::move(file), phase);
}

int64_t count(const graph::Graph& graph, bool learned) {
  int64_t sum = 0;
  for (const graph::Weight& weight : graph.weights)
    if (weight.spec.learned == learned) sum += weight.spec.shape.count();
  return sum;
}

std::map<std::string, Shape> weight_shapes(const graph::Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (const graph::Weight& weight : graph.weights)
    shapes[weight.layer + "[" + std::to_string(weight.index) + "]"] = weight.spec.shape;
  return shapes;
}

class Models : public testing::TestWithParam<Model> {};

TEST_P(Models, BuildWithoutTheirData) {
  for (caffe::Phase phase : {caffe::TRAIN, caffe::TEST})
    EXPECT_NO_THROW(build(read_net(path_of(GetParam(), "train_val")), phase));
}

TEST_P(Models, HaveTheParametersOfThePaper) {
  for (caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    const graph::Graph graph = build_without_data(GetParam(), phase);
    EXPECT_EQ(count(graph, true), GetParam().train);
    EXPECT_EQ(count(graph, false), GetParam().statistics);
  }
}

TEST_P(Models, DeployWithTheWeightsOfTraining) {
  const graph::Graph deployed = build(read_net(path_of(GetParam(), "deploy")), caffe::TEST);
  EXPECT_EQ(count(deployed, true), GetParam().deploy);
  EXPECT_EQ(deployed.output_names(), std::vector<std::string>{"prob"});
  const std::map<std::string, Shape> trained = weight_shapes(build_without_data(GetParam(), caffe::TRAIN));
  for (const auto& [weight, shape] : weight_shapes(deployed)) {
    ASSERT_TRUE(trained.count(weight)) << weight;
    EXPECT_EQ(trained.at(weight), shape) << weight;
  }
}

TEST_P(Models, AreNamedByTheirSolver) {
  const caffe::SolverParameter solver = read_solver(path_of(GetParam(), "solver")).solver;
  EXPECT_EQ(solver.net(), "models/" + GetParam().folder + "/train_val.prototxt");
  EXPECT_EQ(solver.snapshot_prefix(), "snapshots/" + GetParam().folder);
  EXPECT_EQ(solver.test_iter_size(), 1);
  EXPECT_GT(solver.snapshot(), 0);
}

const Shape kImage224{1, 3, 224, 224}, kImage227{1, 3, 227, 227}, kImage32{1, 3, 32, 32};

INSTANTIATE_TEST_SUITE_P(, Models,
                         testing::Values(Model{"lenet", {1, 1, 28, 28}, 431080, 431080, 0},
                                         Model{"cifar10_quick", kImage32, 145578, 145578, 0},
                                         Model{"cifar10_full", kImage32, 89578, 89578, 0},
                                         Model{"alexnet", kImage227, 60965224, 60965224, 0},
                                         Model{"caffenet", kImage227, 60965224, 60965224, 0},
                                         Model{"googlenet", kImage224, 13378280, 6998552, 0},
                                         Model{"vgg16", kImage224, 138357544, 138357544, 0},
                                         Model{"resnet18", kImage224, 11689512, 11689512, 2 * 4800 + 20},
                                         Model{"resnet50", kImage224, 25557032, 25557032, 2 * 26560 + 53},
                                         Model{"resnet50_v1_5", kImage224, 25557032, 25557032, 2 * 26560 + 53},
                                         Model{"mobilenet_v1", kImage224, 4231976, 4231976, 2 * 10944 + 27},
                                         Model{"mobilenet_v2", kImage224, 3504872, 3504872, 2 * 17056 + 52},
                                         Model{"efficientnet_lite0", kImage224, 4664008, 4664008, 2 * 21008 + 49},
                                         Model{"shufflenet_v2", kImage224, 2278604, 2278604, 2 * 8090 + 56},
                                         Model{"squeezenet", kImage227, 1235496, 1235496, 0},
                                         Model{"vit_tiny", {1, 1, 28, 28}, 187434, 187434, 2 * 96 + 2}),
                         [](const testing::TestParamInfo<Model>& info) { return info.param.folder; });

}  // namespace
}  // namespace cortado
