// Observed nets with each type of layer whose number of rows depends on the values of a pass. The types are found in
// the registry, and each needs a trial below.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "core/device.h"
#include "core/rng.h"
#include "layers/registry.h"
#include "net/observed_net.h"
#include "tests/harness/places.h"
#include "tests/harness/python_here.h"
#include "tests/harness/sample_layer.h"

namespace cortado {
namespace {

const bool rows_python_path_is_set = ::setenv("PYTHONPATH", in_source("tests/layers/python").c_str(), 1) == 0;

using Values = std::vector<float>;

Values normal(int64_t count, RandomStream& random, float scale) {
  Values values(static_cast<size_t>(count));
  for (float& v : values) v = scale * float(random.normal());
  return values;
}

Values likely(int64_t count, RandomStream& random, float) {
  Values values(static_cast<size_t>(count));
  for (float& v : values) v = float(random.uniform());
  return values;
}

Values selector(int64_t count, RandomStream& random, float) {
  Values values = likely(count, random, 0);
  for (float& v : values) v = v < 0.5f ? 0.0f : 1.0f;
  return values;
}

/// Rows of `width`: image 0, and corners within 60 pixels, some exchanged; then a class.
template <int width>
Values regions(int64_t count, RandomStream& random, float) {
  Values values(static_cast<size_t>(count), 1);
  for (size_t i = 0; i < values.size(); ++i)
    if (i % width < 5) values[i] = i % width == 0 ? 0 : float(random.uniform()) * 60 + (i % width > 2 ? 20.0f : 0.0f);
  return values;
}

/// Height, width and scale.
Values image_info(int64_t count, RandomStream&, float) {
  Values values(static_cast<size_t>(count), 40);
  for (size_t i = 2; i < values.size(); i += 3) values[i] = 1;
  return values;
}

Values forty(int64_t count, RandomStream&, float) { return Values(static_cast<size_t>(count), 40); }

/// Four priors, and their variances.
Values priors(int64_t, RandomStream&, float) {
  return {0, 0, 0.4f, 0.4f, 0.5f, 0, 1, 0.5f, 0, 0.5f, 0.5f, 1, 0.5f, 0.5f, 1, 1,
          1, 1, 1,    1,    1,    1, 1, 1,    1, 1,    1,    1, 1,    1,    1, 1};
}

struct Bottom {
  Shape shape;
  Values (*fill)(int64_t count, RandomStream& random, float scale) = normal;
};

struct Trial {
  std::string type, options;
  std::vector<Bottom> bottoms;
  int tops = 1;
  caffe::Phase phase = caffe::TEST;
};

const std::vector<Trial>& trials() {
  static const std::vector<Trial> all = {
      {"Filter", "", {{{6, 3}}, {{6}, selector}}},
      {"Python", "python_param { module: 'tested_layers' layer: 'Fewer' }", {{{6, 3}}}},
      {"DetectionOutput",
       "detection_output_param { num_classes: 2 confidence_threshold: 0.4 nms_param { nms_threshold: 0.3 } }",
       {{{1, 16}}, {{1, 8}, likely}, {{1, 2, 16}, priors}}},
      {"Proposal",
       "proposal_param { ratio: 1 scale: 1 scale: 2 post_nms_topn: 90 nms_thresh: 0.3 base_size: 4 feat_stride: 8 "
       "min_size: 4 }",
       {{{2, 4, 6, 5}}, {{2, 8, 6, 5}}, {{2, 3}, image_info}},
       2},
      {"ProposalTarget",
       "proposal_target_param { cls_num: 2 batch_size: -1 num_img_per_batch: 2 img_width: 90 img_height: 80 fg_thr: "
       "0.5 "
       "bg_thr_lw: 0.1 bg_thr_hg: 0.5 }",
       {{{6, 5}, regions<5>}, {{3, 7}, regions<7>}},
       7,
       caffe::TRAIN},
      {"DecodeBBox", "", {{{6, 8}}, {{6, 5}, regions<5>}}, 1, caffe::TRAIN},
      {"FrcnnOutput",
       "frcnn_output_param { conf_thr: 0.4 }",
       {{{6, 3}, likely}, {{6, 12}}, {{6, 5}, regions<5>}, {{1, 2}, forty}}},
      {"ScaleRoute", "scale_route_param { low_scale: 20 }", {{{6, 5}, regions<5>}, {{6}}}, 2},
      {"BoxOutput",
       "box_output_param { field_w: 8 field_h: 4 downsample_rate: 8 fg_thr: 1 min_size: 1 }",
       {{{2, 7, 6, 5}}},
       2},
      {"BoxGroupOutput",
       "box_group_output_param { box_group_param { field_w: 8 field_w: 9 field_h: 4 field_h: 9 stride: 8 } }",
       {{{4, 2, 6, 5}, likely}, {{4, 4, 6, 5}}},
       2},
      {"YoloDetectionOutput",
       "yolo_detection_output_param { num_classes: 3 num_box: 2 biases: 0.8 biases: 1.2 biases: 2.5 biases: 1.5 "
       "confidence_threshold: 0.4 }",
       {{{1, 16, 3, 3}}}},
      {"Yolov3DetectionOutput",
       "yolov3_detection_output_param { num_classes: 3 num_box: 2 mask_group_num: 1 mask: 0 mask: 1 anchors_scale: 32 "
       "biases: 10 biases: 14 biases: 23 biases: 27 confidence_threshold: 0.4 }",
       {{{1, 16, 3, 3}}}}};
  return all;
}

const Trial* trial_of(const std::string& type) {
  for (const Trial& trial : trials())
    if (trial.type == type) return &trial;
  return nullptr;
}

TEST(ObservedRows, EachTypeHasATrial) {
  for (const LayerType* type : all_layer_types()) {
    if (type->kind == LayerKind::kData || type->kind == LayerKind::kInput || trial_of(type->name)) continue;
    look_at_sample(*type,
                   [&](Layer& layer) { EXPECT_EQ(layer.roles().rows, nullptr) << type->name << ": add a trial"; });
  }
}

/// The layer of the trial, and others after it that compute in place and sum gradients.
std::string text_of(const Trial& trial) {
  std::string shapes, inputs, bottoms, tops;
  for (size_t i = 0; i < trial.bottoms.size(); ++i) {
    const std::string name = "'x" + std::to_string(i) + "' ";
    inputs += "top: " + name;
    bottoms += "bottom: " + name;
    shapes += "shape { ";
    for (const int64_t dim : trial.bottoms[i].shape.dims()) shapes += "dim: " + std::to_string(dim) + " ";
    shapes += "} ";
  }
  for (int k = 0; k < trial.tops; ++k) tops += "top: 't" + std::to_string(k) + "' ";
  return "force_backward: true layer { name: 'in' type: 'Input' " + inputs + "input_param { " + shapes +
         "} } layer { name: 'rows' type: '" + trial.type + "' " + bottoms + tops + trial.options + R"( }
    layer { name: 'relu' type: 'ReLU' bottom: 't0' top: 't0' relu_param { negative_slope: 0.5 } }
    layer { name: 'p' type: 'Power' bottom: 't0' top: 'p' power_param { scale: 2 } }
    layer { name: 'q' type: 'Power' bottom: 'p' top: 'q' power_param { scale: 3 } }
    layer { name: 'sum' type: 'Eltwise' bottom: 'p' bottom: 'q' top: 'sum' })";
}

class RowsTrial {
 public:
  RowsTrial(const Trial& trial, const std::string& device)
      : trial_(trial), context_({.threads = 2, .device = device_named(device)}) {
    graph::BuildOptions options;
    options.state.set_phase(trial.phase);
    options.verify = true;
    options.observed = true;
    options.accumulates = true;
    net_ = make_net(std::make_shared<NetFile>(read_net_from_text(text_of(trial), "net.prototxt")), options, context_);
    observed_ = std::make_unique<ObservedNet>(*net_);
  }

  /// Each pass has other rows.
  void run() {
    std::set<int64_t> rows;
    for (uint64_t pass = 0; pass < 12; ++pass) {
      context_.pass = pass;
      set_inputs(pass);
      observed_->forward(0, observed_->layers() - 1);
      rows.insert(observed_->shape("t0").count());
      check_values();
      check_first_layers();
      check_written_rows(pass);
      check_gradients(pass);
    }
    EXPECT_GT(rows.size(), 1u) << "the trial has always as many rows";
  }

 private:
  /// Fails if read() writes more than shape() says. AddressSanitizer sees other faults.
  Values read(const std::string& blob, BlobPart part = BlobPart::kValues) {
    constexpr float kUnread = 12345;
    Values values(size_t(observed_->shape(blob).count()) + 1000, kUnread);
    observed_->read(blob, part, values.data());
    const auto end = values.end() - 1000;
    EXPECT_EQ(std::count(end, values.end(), kUnread), 1000) << blob;
    return {values.begin(), end};
  }

  void set_inputs(uint64_t pass) {
    RandomStream random(pass);
    for (size_t i = 0; i < trial_.bottoms.size(); ++i) {
      const Bottom& bottom = trial_.bottoms[i];
      const Values values = bottom.fill(bottom.shape.count(), random, 1 + float(pass % 3));
      observed_->write("x" + std::to_string(i), BlobPart::kValues, values.data());
    }
  }

  void check_values() {
    for (const std::string& blob : observed_->blobs()) {
      EXPECT_EQ(observed_->shape(blob), net_->blob_shape(blob));
      EXPECT_EQ(read(blob), net_->read_blob(blob)) << blob;
    }
    const Values t = read("t0"), sum = read("sum");
    ASSERT_EQ(t.size(), sum.size());
    for (size_t i = 0; i < t.size(); ++i) EXPECT_FLOAT_EQ(sum[i], 8 * t[i]) << i;
  }

  /// Before the layer in place.
  void check_first_layers() {
    const Values after = read("t0");
    observed_->forward(0, 1);
    const Values before = read("t0");
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(before[i] < 0 ? before[i] / 2 : before[i], after[i]) << i;
    observed_->forward(2, 2);
    EXPECT_EQ(read("t0"), after);
  }

  void check_written_rows(uint64_t pass) {
    RandomStream random(100 + pass);
    const Values written = normal(observed_->shape("t0").count(), random, 1);
    observed_->write("t0", BlobPart::kValues, written.data());
    EXPECT_EQ(read("t0"), written);
    observed_->forward(3, 5);
    const Values sum = read("sum");
    ASSERT_EQ(sum.size(), written.size());
    for (size_t i = 0; i < sum.size(); ++i) EXPECT_FLOAT_EQ(sum[i], 8 * written[i]) << i;
  }

  /// The rows were written above, so the ReLU is that of the written values.
  void check_gradients(uint64_t pass) {
    RandomStream random(200 + pass);
    const Values t = read("t0"), dy = normal(int64_t(t.size()), random, 1);
    observed_->write("sum", BlobPart::kGradients, dy.data());
    EXPECT_EQ(read("sum", BlobPart::kGradients), dy);
    observed_->backward(0, 5);
    const Values dp = read("p", BlobPart::kGradients), dq = read("q", BlobPart::kGradients),
                 dt = read("t0", BlobPart::kGradients);
    for (size_t i = 0; i < t.size(); ++i) {
      EXPECT_FLOAT_EQ(dq[i], dy[i]) << i;
      EXPECT_FLOAT_EQ(dp[i], 4 * dy[i]) << i;
      EXPECT_FLOAT_EQ(dt[i], (t[i] > 0 ? 8 : 4) * dy[i]) << i;
    }
    for (size_t i = 0; i < trial_.bottoms.size(); ++i) read("x" + std::to_string(i), BlobPart::kGradients);
    observed_->clear_weight_gradients();
  }

  const Trial& trial_;
  Context context_;
  std::unique_ptr<Net> net_;
  std::unique_ptr<ObservedNet> observed_;
};

TEST(ObservedRows, AreReadAndWritten) {
  for (const Trial& trial : trials())
    for (const char* device : {"cpu", "simulated"}) {
      SCOPED_TRACE(trial.type + " on " + device);
      if (trial.type == "Python" && !has_python()) continue;
      RowsTrial(trial, device).run();
    }
}

}  // namespace
}  // namespace cortado
