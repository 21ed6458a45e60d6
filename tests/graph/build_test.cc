// Errors in nets: each is found, with its place, and several in one run.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "graph/passes/passes.h"
#include "graph/plan.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

/// Before any pass.
graph::Graph new_graph(const std::string& text, const graph::BuildOptions& options) {
  return graph::build(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options);
}

graph::Graph build_net(const std::string& text, caffe::Phase phase = caffe::TRAIN) {
  graph::BuildOptions options;
  options.state.set_phase(phase);
  options.verify = true;
  graph::Graph graph = new_graph(text, options);
  graph::run_passes(graph);
  return graph;
}

std::string mistakes_of(const std::string& text) {
  try {
    build_net(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kNet);
    return e.what();
  }
  return "no error found";
}

const std::string kInput =
    "layer { name: 'in' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }\n";

TEST(Build, unknown_bottom_names_the_nearest_blob) {
  const std::string text = mistakes_of(kInput + "layer { name: 'r' type: 'ReLU' bottom: 'dato' top: 'r' }");
  EXPECT_NE(text.find("net.prototxt:2:"), std::string::npos) << text;
  EXPECT_NE(text.find("'dato', which no layer makes"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'data'?"), std::string::npos) << text;
}

TEST(Build, an_unknown_bottom_brings_no_error_of_its_shape) {
  const std::string text = mistakes_of(kInput +
                                       "layer { name: 'c' type: 'Convolution' bottom: 'dato' top: 'c' "
                                       "convolution_param { num_output: 2 kernel_size: 9 } }");
  EXPECT_NE(text.find("'dato', which no layer makes"), std::string::npos) << text;
  EXPECT_EQ(text.find("note: 'data' has shape"), std::string::npos) << text;
}

/// Of a net with a layer of this type, which the third line names.
std::string mistakes_of_type(const std::string& type) {
  return mistakes_of(kInput + "layer { name: 'a' bottom: 'data' top: 'a'\n  type: '" + type + "' }");
}

/// Those in the first layer, too. An unknown type hides the layer's unknown fields.
TEST(Build, errors_in_the_text_are_found_with_those_of_the_net) {
  const std::string file = testing::TempDir() + "/draft.prototxt";
  const auto messages = [&](const std::string& text) {
    std::ofstream(file) << text;
    graph::BuildOptions options;
    try {
      graph::build(std::make_shared<NetFile>(read_net_draft(file)), options);
    } catch (const Error& e) {
      std::string lines;
      for (const Diagnostic& mistake : e.mistakes())
        lines += std::to_string(mistake.place.line) + ": " + mistake.message + "\n";
      return lines;
    }
    return std::string("no error found");
  };
  EXPECT_EQ(messages("layer { name: 'a' type: 'Input' top: 'data'\n  input_parm { shape { dim: 2 } } }\n"
                     "layer { name: 'b' type: 'ReLU' bottom: 'data' top: 'b' }\n"
                     "layer { name: 'c' type: 'Convolutoin' bottom: 'b' top: 'c'\n  convolution_parm { } }\n"
                     "layer { name: 'd' type: 'ReLU' bottom: 'no' top: 'd' }"),
            "4: layer 'c': unknown layer type 'Convolutoin'\n"
            "2: unknown field 'input_parm' in 'layer'\n"
            "6: layer 'd' (ReLU) reads 'no', which no layer makes\n");
}

TEST(Build, types_in_capitals_are_of_the_old_format) {
  EXPECT_NE(mistakes_of_type("TANH").find("did you mean 'TanH'? write it in the current form"), std::string::npos);
  for (const char* type : {"TaNH", "Tanh"}) {
    EXPECT_NE(mistakes_of_type(type).find("did you mean 'TanH'?"), std::string::npos) << type;
    EXPECT_EQ(mistakes_of_type(type).find("current form"), std::string::npos) << type;
  }
}

TEST(Build, a_plan_needs_the_shape_of_the_first_layer) {
  graph::BuildOptions options;
  options.open_data = false;
  graph::Graph graph = new_graph(
      "layer { name: 'd' type: 'Data' top: 'x' data_param { source: 'none' backend: LMDB batch_size: 2 } }", options);
  graph::run_passes(graph);
  Context context(1);
  expect_error([&] { graph::make_plan(std::move(graph), context); }, ExitCode::kNet,
               "the shape of 'x' is unknown without its dataset");
}

TEST(Build, unknown_type_and_duplicate_top_are_found_in_one_run) {
  const std::string text = mistakes_of(kInput +
                                       "layer { name: 'c' type: 'Convolutoin' bottom: 'data' top: 'c' }\n"
                                       "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' }\n"
                                       "layer { name: 's' type: 'ReLU' bottom: 'data' top: 'r' }");
  EXPECT_NE(text.find("did you mean 'Convolution'?"), std::string::npos) << text;
  EXPECT_NE(text.find("net.prototxt:4:"), std::string::npos) << text;
  EXPECT_NE(text.find("net.prototxt:3:"), std::string::npos) << "the first producer of 'r' is shown:  " << text;
}

TEST(Build, unavailable_types_are_explained) {
  const std::string text = mistakes_of_type("TRT");
  EXPECT_NE(text.find("net.prototxt:3:"), std::string::npos) << text;
  EXPECT_NE(text.find("type 'TRT' runs another program's inference engine"), std::string::npos) << text;
  EXPECT_EQ(text.find("did you mean"), std::string::npos) << text;
  EXPECT_NE(mistakes_of_type("MnActivation").find("one machine"), std::string::npos);
  EXPECT_NE(mistakes_of_type("MKLBatchNorm").find("use BatchNorm, then Scale"), std::string::npos);
}

/// Without a caret at the field, "it is 0" would not say what is.
TEST(Build, messages_name_a_field_that_the_file_does_not_have) {
  const std::string crop =
      "layer { name: 'd' type: 'HDF5Data' top: 'x' hdf5_data_param { source: 's' batch_size: 1 }\n"
      "transform_param { crop_size_h: 2 ";
  const std::string absent = mistakes_of(crop + "} }"), present = mistakes_of(crop + "crop_size_l: 0 } }");
  EXPECT_NE(absent.find("layer 'd' (HDF5Data): transform_param.crop_size_l: it is 0"), std::string::npos) << absent;
  EXPECT_NE(present.find("net.prototxt:2:47: error: layer 'd' (HDF5Data): it is 0"), std::string::npos) << present;
  const std::string means = mistakes_of(
      "layer { name: 'd' type: 'VideoData' top: 'x' video_data_param { source: 's' batch_size: 1 new_length: 2 }\n"
      "transform_param { mean_value: [1, 2, 3, 4, 5, 6, 7, 8, 9] } }");
  EXPECT_NE(means.find("layer 'd' (VideoData): transform_param.mean_value: there are 9"), std::string::npos) << means;
}

TEST(Build, cycles_are_named) {
  const std::string text = mistakes_of(kInput +
                                       "layer { name: 'a' type: 'ReLU' bottom: 'b' top: 'a' }\n"
                                       "layer { name: 'b' type: 'ReLU' bottom: 'a' top: 'b' }");
  EXPECT_NE(text.find("cycle 'a' -> 'b' -> 'a'"), std::string::npos) << text;
}

TEST(Build, cycles_from_the_first_layer_on_are_named) {
  const std::string two = mistakes_of(
      "layer { name: 'a' type: 'ReLU' bottom: 'b' top: 'a' }\n"
      "layer { name: 'b' type: 'ReLU' bottom: 'a' top: 'b' }");
  EXPECT_NE(two.find("net.prototxt:1:40: error: layer 'a' (ReLU) reads 'b' before it is made: cycle 'a' -> 'b' -> 'a'"),
            std::string::npos)
      << two;
  const std::string one = mistakes_of("layer { name: 'a' type: 'ReLU' bottom: 'a' top: 'a' }");
  EXPECT_NE(one.find("layer 'a' (ReLU) reads 'a' before it is made: cycle 'a' -> 'a'"), std::string::npos) << one;
  const std::string none = mistakes_of(
      "layer { name: 'a' type: 'ReLU' bottom: 'b' top: 'a' }\n"
      "layer { name: 'b' type: 'DummyData' top: 'b' dummy_data_param { shape { dim: 1 } } }");
  EXPECT_NE(none.find("reads 'b' before it is made\n"), std::string::npos) << "no cycle:  " << none;
}

/// A chain of so many layers whose first one reads what the last one makes.
std::string cycle_of(int layers) {
  std::string text;
  for (int i = 0; i < layers; ++i)
    text += "layer { name: 'l" + std::to_string(i) + "' type: 'ReLU' bottom: 'b" +
            std::to_string((i + layers - 1) % layers) + "' top: 'b" + std::to_string(i) + "' }\n";
  return text;
}

TEST(Build, only_long_cycles_are_shortened) {
  const std::string whole = mistakes_of(cycle_of(12)), cut = mistakes_of(cycle_of(13));
  EXPECT_NE(whole.find("cycle 'l0' -> 'l1' -> 'l2' -> 'l3' -> 'l4' -> 'l5' -> 'l6' -> 'l7' -> 'l8' -> 'l9' -> 'l10' -> "
                       "'l11' -> 'l0'\n"),
            std::string::npos)
      << whole;
  EXPECT_NE(cut.find("cycle 'l0' -> 'l1' -> 'l2' -> 'l3' -> 'l4' -> 'l5' -> ... -> 'l7' -> 'l8' -> 'l9' -> 'l10' -> "
                     "'l11' -> 'l12' -> 'l0'\n"),
            std::string::npos)
      << cut;
}

TEST(Build, a_blob_of_the_first_layer_in_another_phase_is_named) {
  const std::string text = mistakes_of(
      "layer { name: 'in' type: 'Input' top: 'data' input_param { shape { dim: 1 } } include { phase: TEST } }\n"
      "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' }");
  EXPECT_NE(text.find("'data' is made here, by a layer that is not in phase TRAIN"), std::string::npos) << text;
}

TEST(Build, a_loss_weight_for_each_top_at_most) {
  const auto message = [](const std::string& weights) {
    return mistakes_of(kInput + "layer { name: 'r' type: 'Reduction' bottom: 'data' top: 'r' " + weights + " }");
  };
  EXPECT_EQ(message("loss_weight: 1"), "no error found");
  EXPECT_NE(message("loss_weight: 1 loss_weight: 2").find("layer 'r' (Reduction) has 2 loss_weights for 1 tops"),
            std::string::npos);
}

TEST(Build, fillers_of_unknown_type_are_errors) {
  const std::string text =
      mistakes_of(kInput +
                  "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c' convolution_param {\n"
                  "num_output: 2 kernel_size: 3 weight_filler { type: 'xavie' } } }");
  EXPECT_NE(text.find("net.prototxt:3:"), std::string::npos) << text;
  EXPECT_NE(text.find("xavie"), std::string::npos) << text;
}

TEST(Build, extents_of_zero_are_shapes) {
  const graph::Graph graph = build_net(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 0 dim: 3 } } }"
      "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'r' }");
  EXPECT_EQ(graph.value(graph.names.at("r")).shape, (Shape{0, 3}));
}

/// The first error is the place from which a net does not fit its input.
TEST(Build, the_first_layer_that_does_not_fit_is_known) {
  graph::BuildOptions options;
  const std::string misfit = "convolution_param { num_output: 2 kernel_size: 9 } }\n";
  graph::Graph graph = new_graph(kInput + "layer { name: 'a' type: 'Convolution' bottom: 'data' top: 'a' " + misfit +
                                     "layer { name: 'b' type: 'Convolution' bottom: 'data' top: 'b' " + misfit,
                                 options);
  EXPECT_THROW(graph::run_passes(graph), Error);
  EXPECT_EQ(graph.unfit, 1);
}

/// Also those of the first layer, and the first weight.
TEST(Build, weights_of_another_graph_are_found_by_layer) {
  const std::string weights = "layer { name: 'w' type: 'Parameter' top: 'w' parameter_param { shape { dim: 3 } } }\n",
                    more =
                        "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { "
                        "num_output: 2 } }\n";
  const graph::Graph one = build_net(weights + kInput + more), other = build_net(kInput + more + weights),
                     none = build_net(kInput + more);
  const auto id_in = [](const graph::Graph& graph, const std::string& layer, size_t k) {
    return graph.source(graph.source_named(layer)).weights[k];
  };
  const std::vector<graph::WeightId> ids = graph::weights_in(other, one);
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(id_in(one, "w", 0), 0);
  EXPECT_EQ(ids[0], id_in(other, "w", 0));
  for (size_t k = 0; k < 2; ++k) EXPECT_EQ(ids[size_t(id_in(one, "ip", k))], id_in(other, "ip", k));
  EXPECT_EQ(graph::weights_in(one, none), (std::vector<graph::WeightId>{id_in(one, "ip", 0), id_in(one, "ip", 1)}));
  EXPECT_EQ(graph::weights_in(none, one)[0], -1);
  // A shared weight has the values of its first layer.
  const auto two = [](const std::string& param) {
    const auto parameter = [&](const std::string& name) {
      return "layer { name: '" + name + "' type: 'Parameter' top: '" + name + "' " + param +
             " parameter_param { shape { dim: 3 } } }\n";
    };
    return build_net(parameter("a") + parameter("b"));
  };
  EXPECT_EQ(graph::weights_in(two(""), two("param { name: 'w' }")), (std::vector<graph::WeightId>{0}));
}

TEST(Build, sharers_of_a_weight_have_one_rate) {
  const auto message = [](const std::string& first, const std::string& second) {
    const auto layer = [](const std::string& name, const std::string& more) {
      return "layer { name: '" + name + "' type: 'InnerProduct' bottom: 'data' top: '" + name + "' param { name: 'w' " +
             more + " } inner_product_param { num_output: 2 bias_term: false } }\n";
    };
    return mistakes_of(kInput + layer("a", first) + layer("b", second));
  };
  EXPECT_EQ(message("lr_mult: 2", ""), "no error found");
  EXPECT_EQ(message("lr_mult: 2", "lr_mult: 2"), "no error found");
  EXPECT_NE(message("lr_mult: 2", "lr_mult: 3").find("shared weight 'w' has two different lr_mult"), std::string::npos);
  EXPECT_NE(message("decay_mult: 2", "decay_mult: 3").find("two different decay_mult"), std::string::npos);
}

TEST(Build, a_kernel_larger_than_its_input_has_a_note_on_the_input) {
  const std::string text = mistakes_of(kInput +
                                       "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c' "
                                       "convolution_param { num_output: 2 kernel_size: 9 } }");
  EXPECT_NE(text.find("layer 'c' (Convolution)"), std::string::npos) << text;
  EXPECT_NE(text.find("note: 'data' has shape 1x3x8x8"), std::string::npos) << text;
}

TEST(Build, both_include_and_exclude_is_an_error) {
  EXPECT_NE(mistakes_of(kInput + "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' include { phase: TRAIN } "
                                 "exclude { phase: TEST } }")
                .find("both include and exclude"),
            std::string::npos);
}

TEST(Build, rules_select_by_phase_level_and_stage) {
  caffe::NetState state;
  state.set_phase(caffe::TEST);
  state.set_level(2);
  state.add_stage("deploy");
  caffe::LayerParameter layer;
  EXPECT_TRUE(graph::selected(layer, state));
  layer.add_include()->set_phase(caffe::TRAIN);
  EXPECT_FALSE(graph::selected(layer, state));
  layer.add_include()->add_stage("deploy");
  EXPECT_TRUE(graph::selected(layer, state)) << "any matching include is enough";
  layer.clear_include();
  layer.add_exclude()->set_min_level(2);
  EXPECT_FALSE(graph::selected(layer, state));
  layer.mutable_exclude(0)->set_min_level(3);
  EXPECT_TRUE(graph::selected(layer, state));
  layer.mutable_exclude(0)->Clear();
  layer.mutable_exclude(0)->set_max_level(1);
  EXPECT_TRUE(graph::selected(layer, state));
  layer.mutable_exclude(0)->set_max_level(2);
  EXPECT_FALSE(graph::selected(layer, state));
  layer.mutable_exclude(0)->Clear();
  layer.mutable_exclude(0)->add_not_stage("deploy");
  EXPECT_TRUE(graph::selected(layer, state));
}

TEST(Build, losses_without_a_top_count_too) {
  const graph::Graph graph = build_net(kInput +
                                       "layer { name: 'l' type: 'EuclideanLoss' bottom: 'data' bottom: 'data' }\n"
                                       "layer { name: 'm' type: 'EuclideanLoss' bottom: 'data' bottom: 'data' }\n");
  EXPECT_EQ(graph.output_names(), (std::vector<std::string>{"(automatic)", "m"}));
  for (const char* name : {"(automatic)", "m"}) EXPECT_EQ(graph.value(graph.names.at(name)).loss_weight, 1) << name;
}

TEST(Build, force_backward_computes_gradients_of_inputs) {
  const std::string net = kInput +
                          "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' "
                          "inner_product_param { num_output: 2 } }\n"
                          "layer { name: 'l' type: 'Input' top: 'l' input_param { shape { dim: 1 } } }\n"
                          "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'l' top: 'loss' }\n";
  const auto wants_dx = [](const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes)
      if (node.name == "ip") return bool(node.wants_dx.at(0));
    return false;
  };
  EXPECT_FALSE(wants_dx(build_net(net)));
  EXPECT_TRUE(wants_dx(build_net("force_backward: true\n" + net)));
}

/// true forces the gradient of a bottom, also of one that depends on no weight; false stops it. Labels have none.
TEST(Build, propagate_down_forces_and_stops_gradients) {
  const auto wanted = [](const std::string& first, const std::string& second, const std::string& loss) {
    const auto product = [](const std::string& name, const std::string& bottom, const std::string& more) {
      return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name +
             "' inner_product_param { num_output: 2 } " + more + " }\n";
    };
    const graph::Graph graph = build_net(
        kInput + "layer { name: 'abs' type: 'AbsVal' bottom: 'data' top: 'abs' }\n" + product("one", "data", first) +
        product("two", "one", second) + product("side", "abs", "param { lr_mult: 0 } param { lr_mult: 0 }") +
        "layer { name: 'sum' type: 'Eltwise' bottom: 'two' bottom: 'side' top: 'sum' }\n"
        "layer { name: 'l' type: 'Input' top: 'l' input_param { shape { dim: 1 } } }\n"
        "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'sum' bottom: 'l' top: 'loss' " +
        loss + " }\n");
    std::string names;
    for (const graph::Node& node : graph.nodes)
      for (size_t i = 0; i < node.wants_dx.size() && !node.name.empty(); ++i)
        if (node.wants_dx[i] && (node.name == "abs" || node.name == "one" || node.name == "two" || node.name == "side"))
          names += node.name + " ";
    return names;
  };
  const std::string yes = "propagate_down: true", no = "propagate_down: false";
  EXPECT_EQ(wanted("", "", ""), "two ");
  EXPECT_EQ(wanted(yes, "", ""), "abs one two side ");
  EXPECT_EQ(wanted(no, "", ""), "two ");
  EXPECT_EQ(wanted("", yes, ""), "two ");
  EXPECT_EQ(wanted("", no, ""), "");
  EXPECT_EQ(wanted(yes, no, ""), "abs side ");
  EXPECT_EQ(wanted(yes + " param { lr_mult: 0 } param { lr_mult: 0 }", "", ""), "abs one two side ");
  EXPECT_EQ(wanted("", "", yes + " " + no), "two ");
  EXPECT_EQ(wanted("", "", yes + " " + yes), "two ");
  EXPECT_EQ(wanted("", "", no + " " + no), "");
}

TEST(PlanText, lists_the_memory_of_each_step) {
  const auto product = [](const std::string& name, const std::string& x) {
    return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + x + "' top: '" + name +
           "' inner_product_param { num_output: 2 } }\n";
  };
  Context context(1);
  const graph::Plan plan = graph::make_plan(
      build_net("layer { name: 'in' type: 'Input' top: 'x' top: 't' input_param { shape { dim: 2 dim: 3 } "
                "shape { dim: 2 dim: 2 } } }\n" +
                product("one", "x") + product("two", "one") +
                "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'two' bottom: 't' top: 'loss' }"),
      context);
  const std::string text = graph::to_text(plan);
  const auto expect = [&](const std::string& line) {
    EXPECT_TRUE(std::regex_search(text, std::regex(line))) << line << text;
  };
  expect("weights [0-9]+ bytes, gradients [0-9]+ bytes\n");
  expect("forward  InnerProduct 'one' x0=[0-9]+.24 y0=[0-9]+.16");
  expect("forward  EuclideanLoss 'loss' .* scratch=[0-9]+");
  expect("backward InnerProduct 'two' x0=[0-9]+.16 y0=[0-9]+.16 dy0=[0-9]+.16 dx0=[0-9]+.16");
  expect("backward InnerProduct 'one' x0=[0-9]+.24 y0=[0-9]+.16 dy0=[0-9]+.16");
  EXPECT_GE(plan.learned_bytes(), 56) << "3 * 2 + 2 + 2 * 2 + 2 floats, more in some formats";
  EXPECT_EQ(plan.learned_bytes(), plan.weight_bytes());
}

/// The first value is at the start of the memory.
TEST(Plan, counts_the_bytes_of_each_operand) {
  Context context(1);
  const graph::Plan plan = graph::make_plan(
      build_net(
          "layer { name: 'in' type: 'Input' top: 'x' top: 't' input_param { shape { dim: 2 dim: 5 } "
          "shape { dim: 2 dim: 3 } } }\n"
          "layer { name: 'one' type: 'InnerProduct' bottom: 'x' top: 'one' inner_product_param { num_output: 7 } }\n"
          "layer { name: 'two' type: 'InnerProduct' bottom: 'one' top: 'two' inner_product_param { num_output: 3 } "
          "}\nlayer { name: 'loss' type: 'EuclideanLoss' bottom: 'two' bottom: 't' top: 'loss' }"),
      context);
  const auto traffic = [&](const std::vector<graph::Step>& steps, const std::string& name) {
    for (const graph::Step& step : steps)
      if (plan.graph.node(step.node).name == name) {
        const Traffic bytes = graph::operand_traffic(plan, step);
        return std::pair(bytes.read / 4, bytes.written / 4);
      }
    return std::pair(int64_t(-1), int64_t(-1));
  };
  const auto weights = [&](size_t first) {  // in the formats of the kernels
    return (plan.w_formats[first].bytes() + plan.w_formats[first + 1].bytes()) / 4;
  };
  const int64_t one = weights(0), two = weights(2);
  EXPECT_GE(one, 5 * 7 + 7);
  EXPECT_GE(two, 7 * 3 + 3);
  EXPECT_EQ(traffic(plan.forward, "in"), (std::pair(int64_t(0), int64_t(2 * 5 + 2 * 3))));
  EXPECT_EQ(traffic(plan.forward, "one"), (std::pair(2 * 5 + one, int64_t(2 * 7))));
  EXPECT_EQ(traffic(plan.forward, "two"), (std::pair(2 * 7 + two, int64_t(2 * 3))));
  EXPECT_EQ(traffic(plan.backward, "two"), (std::pair(2 * 7 + 2 * 3 + two, 2 * 7 + two)));
  EXPECT_EQ(traffic(plan.backward, "one"), (std::pair(int64_t(2 * 5 + 2 * 7), one)));
}

TEST(Plan, runs_backward_from_the_first_layer_on) {
  Context context(1);
  const graph::Plan plan =
      graph::make_plan(build_net("layer { name: 'w' type: 'Parameter' top: 'w' parameter_param { shape { dim: 3 } } }\n"
                                 "layer { name: 'size' type: 'Reduction' bottom: 'w' top: 'size' loss_weight: 1 }"),
                       context);
  ASSERT_EQ(plan.backward.size(), 2u);
  EXPECT_EQ(plan.graph.node(plan.backward[1].node).name, "w");
  EXPECT_EQ(plan.backward[1].complete, (std::vector<graph::WeightId>{0}));
}

TEST(Build, outputs_are_in_alphabetical_order) {
  const graph::Graph graph = build_net(kInput +
                                       "layer { name: '1' type: 'ReLU' bottom: 'data' top: 'zebra' }\n"
                                       "layer { name: '2' type: 'ReLU' bottom: 'data' top: 'ant' }");
  EXPECT_EQ(graph.output_names(), (std::vector<std::string>{"ant", "zebra"}));
}

}  // namespace
}  // namespace cortado
