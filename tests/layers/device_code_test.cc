// No layer may be missing on devices: a net there has nothing to fall back to. Each type runs here with a few options,
// on devices whose memory the host may not touch; the cases of its own test go into depth. A type that is content with
// one image and no options need not be listed.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.h"
#include "core/file.h"
#include "data/formats/datum.h"
#include "data/lmdb/lmdb_writer.h"
#include "layers/registry.h"
#include "proto/hdf5_file.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Trial {
  std::string layer;
  Arrays x = {};
};

const Array kImage = random({2, 4, 6, 5}, 1, 0.1, 1), kOther = random({2, 4, 6, 5}, 2), kRows = random({6, 5}, 3),
            kLabels = random_labels({6}, 4, 5);

/// Five records, and a list and a window file of one image, in a folder that goes with it.
class Dataset {
 public:
  Dataset() : folder_(std::filesystem::temp_directory_path() / ("cortado_device_code_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    data::LmdbWriter writer(path());
    for (int i = 0; i < 5; ++i)
      writer.put(std::to_string(i), data::make_datum(1, 2, 3, std::string(6, char('a' + i)), i));
    writer.commit();
    if (has_hdf5()) write_rows();
    write_images();
  }
  ~Dataset() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "lmdb"; }
  static bool has_hdf5() { return !path_of_helper("cortado-hdf5").empty(); }
  std::string rows() const { return folder_ / "rows.txt"; }
  std::string list() const { return folder_ / "list"; }
  std::string windows() const { return folder_ / "windows"; }

 private:
  void write_images() const {
    const std::string image = folder_ / "a.pgm";
    std::ofstream(image) << "P5 3 2 255\nabcdef";
    std::ofstream(list()) << image << " 1\n" << image << " 2\n";
    std::ofstream(windows()) << "# 0\n" << image << "\n1\n2\n3\n2\n1 0.9 0 0 1 1\n0 0 1 0 2 1\n";
  }

  void write_rows() const {
    Hdf5Writer writer(folder_ / "rows.h5", {{"data", "F32", {3, 2}}});
    const float values[6] = {1, 2, 3, 4, 5, 6};
    writer.add(values, sizeof values);
    writer.commit();
    write_file_atomically(rows(), (folder_ / "rows.h5").string());
  }

  std::filesystem::path folder_;
};

std::vector<Trial> trials(const Dataset& dataset) {
  return {
      {"type: 'Accuracy' top: 'a' top: 'b' accuracy_param { top_k: 2 }", {kRows, kLabels}},
      {"type: 'ArgMax' argmax_param { top_k: 3 out_max_val: true }", {kImage}},
      {"type: 'ArgMax' argmax_param { top_k: 3 axis: 2 }", {kImage}},
      {"type: 'Axpy'", {random({2, 4}, 5), kImage, kOther}},
      {"type: 'BNLL'", {kImage}},
      {"type: 'BatchNorm'", {kImage}},
      {"type: 'BatchReindex'", {kRows, Array({3}, {4, 0, 4})}},
      {"type: 'Bias'", {kImage}},
      {"type: 'Bias'", {kImage, Array({4}, 2.0)}},
      {"type: 'Clip' clip_param { min: -0.5 max: 0.5 }", {kOther}},
      {"type: 'Concat'", {kImage, kOther}},
      {"type: 'ContrastiveLoss'", {kRows, random({6, 5}, 5), kLabels}},
      {"type: 'Convolution' convolution_param { num_output: 3 kernel_size: 3 pad: 1 }", {kImage}},
      {"type: 'ConvolutionDepthwise' convolution_param { kernel_size: 3 pad: 1 }", {kImage}},
      {"type: 'Crop' crop_param { offset: 1 offset: 2 }", {kImage, random({1, 1, 3, 2}, 5)}},
      {"type: 'Data' top: 'data' top: 'label' data_param { source: '" + dataset.path() +
       "' batch_size: 4 backend: LMDB }"},
      {"type: 'Deconvolution' convolution_param { num_output: 3 kernel_size: 3 stride: 2 }", {kImage}},
      {"type: 'DepthwiseConvolution' convolution_param { kernel_size: 3 pad: 1 }", {kImage}},
      {"type: 'Dropout'", {kImage}},
      {"type: 'DummyData' dummy_data_param { shape { dim: 99 } data_filler { value: 3 } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 99 } data_filler { type: 'uniform' } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 99 } data_filler { type: 'gaussian' sparse: 5 } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 9 dim: 7 } data_filler { type: 'positive_unitball' } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 9 dim: 7 } data_filler { type: 'msra' } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 1 dim: 2 dim: 4 dim: 4 } data_filler { type: 'bilinear' } }"},
      {"type: 'ELU'", {kImage}},
      {"type: 'Eltwise'", {kImage, kOther}},
      {"type: 'Embed' embed_param { input_dim: 5 num_output: 7 }", {kLabels}},
      {"type: 'EuclideanLoss'", {kImage, kOther}},
      {"type: 'Exp' exp_param { base: 2 }", {kImage}},
      {"type: 'Flatten'", {kImage}},
      {"type: 'Filter'", {kRows, kLabels}},
      {"type: 'FocalLoss' top: 'a' top: 'b' loss_param { class_weight: [1, 2, 3, 4, 5] }", {kRows, kLabels}},
      {"type: 'GroupNorm' group_norm_param { group: 2 }", {kImage}},
      {"type: 'HingeLoss'", {kRows, kLabels}},
      {"type: 'ImageData' top: 'data' top: 'label' image_data_param { source: '" + dataset.list() +
       "' batch_size: 3 }"},
      {"type: 'Im2col' convolution_param { kernel_size: 3 pad: 1 }", {kImage}},
      {"type: 'InfogainLoss'", {kRows, kLabels, random({5, 5}, 6, 0, 1)}},
      {"type: 'InnerProduct' inner_product_param { num_output: 3 }", {kImage}},
      {"type: 'Input' input_param { shape { dim: 3 } }"},
      {"type: 'InstanceNorm' instance_norm_param { affine: true }", {kImage}},
      {"type: 'Interleave'", {kImage, kImage}},
      {"type: 'Interp' interp_param { zoom_factor: 2 }", {kImage}},
      {"type: 'L1Loss'", {kImage, kOther}},
      {"type: 'LRN'", {kImage}},
      {"type: 'LayerNorm' layer_norm_param { axis: 1 }", {kImage}},
      {"type: 'Log'", {kImage}},
      {"type: 'MVN'", {kImage}},
      {"type: 'LSTM' recurrent_param { num_output: 3 }", {random({3, 2, 4}, 7), Array({3, 2}, 1.0)}},
      {"type: 'LSTMUnit'", {random({1, 3, 5}, 7), random({1, 3, 20}, 8), Array({1, 3}, 1.0)}},
      {"type: 'MatMul' matmul_param { transpose_b: true alpha: 0.5 }", {kImage, kOther}},
      {"type: 'MatMul'", {random({5, 6}, 5), kImage}},
      {"type: 'MultinomialLogisticLoss'", {kRows, kLabels}},
      {"type: 'Normalize'", {kImage}},
      {"type: 'Normalize' norm_param { across_spatial: false channel_shared: false }", {kImage}},
      {"type: 'PReLU'", {kOther}},
      {"type: 'PReLU' prelu_param { channel_shared: true }", {kOther}},
      {"type: 'Parameter' parameter_param { shape { dim: 9 } }"},
      {"type: 'Permute' permute_param { order: 0 order: 2 order: 3 order: 1 }", {kImage}},
      {"type: 'Pooling' pooling_param { kernel_size: 2 }", {kImage}},
      {"type: 'Pooling' pooling_param { kernel_size: 2 pool: AVE }", {kImage}},
      {"type: 'Pooling' pooling_param { kernel_size: 2 pool: STOCHASTIC }", {kImage}},
      {"type: 'Power' power_param { power: 1.5 }", {kImage}},
      {"type: 'RNN' recurrent_param { num_output: 3 }", {random({3, 2, 4}, 7), Array({3, 2}, 1.0)}},
      {"type: 'ReLU'", {kOther}},
      {"type: 'Reduction'", {kImage}},
      {"type: 'Reduction' reduction_param { operation: SUMSQ axis: 2 }", {kImage}},
      {"type: 'Reorder'", {kImage}},
      {"type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 } }", {kImage}},
      {"type: 'SPP' spp_param { pyramid_height: 2 }", {kImage}},
      {"type: 'Scale' scale_param { bias_term: true }", {kImage}},
      {"type: 'ShuffleChannel' shuffle_channel_param { group: 2 }", {kImage}},
      {"type: 'Sigmoid'", {kImage}},
      {"type: 'SigmoidCrossEntropyLoss'", {kRows, random({6, 5}, 5, 0, 1)}},
      {"type: 'Silence'", {kImage, kOther}},
      {"type: 'Slice' top: 'a' top: 'b'", {kImage}},
      {"type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 3 }", {kImage, kOther, kImage, kImage}},
      {"type: 'Softmax'", {kImage}},
      {"type: 'SoftmaxWithLoss'", {kRows, kLabels}},
      {"type: 'SoftmaxWithLoss' top: 'a' top: 'b' loss_param { label_smoothing: 0.1 }", {kRows, kLabels}},
      {"type: 'SoftmaxWithLoss' top: 'a' top: 'b'", {kImage, random_labels({2, 6, 5}, 6, 4)}},
      {"type: 'SoftmaxWithLoss' loss_param { class_weight: [1, 2, 3, 4, 5] }", {kRows, kLabels, Array({6}, 2.0)}},
      {"type: 'SpatialDropout'", {kImage}},
      {"type: 'Split' top: 'a' top: 'b'", {kImage}},
      {"type: 'Swish'", {kImage}},
      {"type: 'TanH'", {kImage}},
      {"type: 'Threshold'", {kOther}},
      {"type: 'Tile' tile_param { tiles: 2 }", {kImage}},
      {"type: 'Upsample'", {kImage}},
      {"type: 'Upsample'", {random({1, 1, 1, 3}, 8), Array({1, 1, 1, 3}, {11, 0, 5})}},
      {"type: 'WindowData' top: 'data' top: 'label' transform_param { crop_size: 4 mirror: true } window_data_param { "
       "source: '" +
       dataset.windows() + "' batch_size: 4 context_pad: 1 }"},
  };
}

bool learns(const Trial& trial, const MadeLayer& made) {
  for (size_t i = 0; i < trial.x.size(); ++i)
    if (made.layer->differentiable(int(i))) return true;
  for (const WeightSpec& w : made.shapes.w)
    if (w.learned) return true;
  return false;
}

/// The same values but for rounding; what nobody wrote is equal, too.
void expect_same(const Array& got, const Array& expected, const std::string& what) {
  if (!same_bits(got, expected)) expect_near(got, expected, 1e-5, what);
}

/// Runs it on `device`, expects what the CPU gives, and returns its type.
std::string run(const Trial& trial, const Device& device) {
  const MadeLayer made(trial.layer, "", shapes_of(trial.x));
  RunOptions options;
  options.backward = learns(trial, made);
  LayerRun on_cpu(trial.layer, trial.x, options);
  options.device = device;
  LayerRun on_device(trial.layer, trial.x, options);
  on_cpu.forward();
  on_device.forward();
  Arrays dy;
  for (size_t i = 0; i < on_cpu.y().size(); ++i) {
    expect_same(on_device.y()[i], on_cpu.y()[i], "y" + std::to_string(i));
    dy.push_back(random(on_cpu.y()[i].shape, 10 + i));
  }
  if (!options.backward) return made.config.type();
  on_cpu.backward(dy);
  on_device.backward(dy);
  for (size_t i = 0; i < trial.x.size(); ++i)
    if (on_device.has_dx(i)) expect_same(on_device.dx(i), on_cpu.dx(i), "dx" + std::to_string(i));
  for (size_t i = 0; i < on_cpu.w().size(); ++i)
    if (on_device.has_dw(i)) expect_same(on_device.dw(i), on_cpu.dw(i), "dw" + std::to_string(i));
  return made.config.type();
}

TEST(DeviceCode, EveryLayerRunsOnADevice) {
  const Dataset dataset;
  std::set<std::string> missing;
  for (const LayerType* type : all_layer_types())
    if (type->name.rfind("test:", 0) != 0) missing.insert(type->name);
  missing.erase("MemoryData");  // is never run: whoever feeds it makes an Input layer of it
  std::vector<Trial> list = trials(dataset);
  if (Dataset::has_hdf5())
    list.push_back({"type: 'HDF5Data' top: 'data' hdf5_data_param { source: '" + dataset.rows() + "' batch_size: 4 }"});
  else
    missing.erase("HDF5Data");
  missing.erase("HDF5Output");  // two of them cannot write one file at once; its own test runs it on every device
  for (const Device& device : tested_devices())
    for (const Trial& trial : list) {
      SCOPED_TRACE(device.str() + ": " + trial.layer);
      missing.erase(run(trial, device));
    }
  for (const std::string& name : std::set(missing)) {
    const LayerType* type = find_layer_type(name);
    if (type->min_bottoms > 1 || type->max_bottoms == 0 || type->min_tops != 1) continue;
    for (const Device& device : tested_devices()) try {
        SCOPED_TRACE(device.str() + ": " + name);
        missing.erase(run({"type: '" + name + "'", {kOther}}, device));
      } catch (const FieldError&) {
        break;  // it wants options: it stays missing until it is listed
      }
  }
  std::string names;
  for (const std::string& name : missing) names += " " + name;
  std::cout << "layers without device code:" << (names.empty() ? " none" : names) << "\n";
  EXPECT_EQ(names, "");
}

}  // namespace
}  // namespace cortado::harness
