// Layers whose own tests do not call check_layer(), which also runs them on devices. Each runs here with a few options,
// on devices whose memory the host must not access. registry_test.cc checks that every type is covered by one of them.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/files/file.h"
#include "core/process/program_path.h"
#include "data/formats/datum.h"
#include "data/image/image.h"
#include "data/lmdb/lmdb_writer.h"
#include "formats/hdf5_file.h"
#include "formats/mat_file.h"
#include "layers/registry.h"
#include "tests/harness/layer_harness.h"
#include "tests/layers/volume_folder.h"

namespace cortado::harness {
namespace {

struct Trial {
  std::string layer;
  Arrays x = {};
};

const Array kImage = random({2, 4, 6, 5}, 1, 0.1, 1), kOther = random({2, 4, 6, 5}, 2), kRows = random({6, 5}, 3),
            kLabels = random_labels({6}, 4, 5);

/// Five records, and a list, a window file and an object file of one image, in a temporary folder.
class Dataset {
 public:
  Dataset() : folder_(std::filesystem::temp_directory_path() / ("cortado_device_code_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    data::LmdbWriter writer(path());
    for (int i = 0; i < 5; ++i)
      writer.put(std::to_string(i), data::make_datum(1, 2, 3, std::string(6, char('a' + i)), i));
    writer.commit();
    data::LmdbWriter with_objects(annotated());
    for (int i = 0; i < 5; ++i)
      with_objects.put(std::to_string(i), data::make_annotated_datum(data::make_datum(1, 2, 3, "abcdef", 0),
                                                                     {{i, 0, {0.25, 0.25, 0.5, 1}, false}}));
    with_objects.commit();
    data::LmdbWriter with_boxes(boxes());
    caffe::Datum datum;
    datum.set_encoded(true);
    datum.set_data("P5 3 2 255\nabcdef");
    for (const float number : {1.0f, 0.0f, 0.5f, 0.5f, 0.25f, 0.25f}) datum.add_float_data(number);
    with_boxes.put("0", datum.SerializeAsString());
    with_boxes.commit();
    std::string people(6 * 20 * 80, 'a');
    std::fill_n(people.begin() + 3 * 20 * 80, 20 * 80, '\0');
    const float scale = 1;  // of the person, the first number of row 4
    std::memcpy(&people[(3 * 20 + 4) * 80], &scale, sizeof scale);
    data::LmdbWriter with_people(poses());
    with_people.put("0", data::make_datum(6, 20, 80, people, 0));
    with_people.commit();
    if (has_hdf5()) write_rows();
    write_images();
    volumes.add(2, {3, 2, 4, 5}, true);
  }
  ~Dataset() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "lmdb"; }
  std::string annotated() const { return folder_ / "annotated"; }
  std::string boxes() const { return folder_ / "boxes"; }
  std::string poses() const { return folder_ / "poses"; }
  static bool has_hdf5() { return !companion_path("cortado-hdf5").empty(); }
  std::string rows() const { return folder_ / "rows.txt"; }
  std::string list() const { return folder_ / "list"; }
  std::string windows() const { return folder_ / "windows"; }
  /// The image with itself as its labels; a clip of two frames.
  std::string pairs() const { return folder_ / "pairs"; }
  std::string pair_windows() const { return folder_ / "pair_windows"; }
  std::string clips() const { return folder_ / "clips"; }
  std::string objects() const { return folder_ / "objects"; }
  std::string mat_files() const { return folder_ / "mat_"; }
  std::string with_difficult() const { return folder_ / "with_difficult"; }

 private:
  void write_images() const {
    const std::string image = folder_ / "a.pgm";
    std::ofstream(image) << "P5 3 2 255\nabcdef";
    const float values[] = {1, 2, 3, 4, 5, 6};
    write_mat(mat_files() + "iter_0_blob_0.mat", "data", {3, 2}, values);
    std::ofstream(list()) << image << " 1\n" << image << " 2\n";
    std::ofstream(pairs()) << image << " " << image << "\n";
    std::ofstream(pair_windows()) << image << " " << image << " -1 0 1 2\n";
    data::Image frame;
    frame.resize(3, 4, 5);
    for (const char* name : {"000001.jpg", "000002.jpg"})
      std::ofstream(folder_ / name) << data::encode_image(frame, "jpg");
    std::ofstream(clips()) << folder_.string() << " 1 3\n";
    std::ofstream(windows()) << "# 0\n" << image << "\n1\n2\n3\n2\n1 0.9 0 0 1 1\n0 0 1 0 2 1\n";
    std::ofstream(objects()) << "# 0\n" << image << "\n1\n2\n3\n1\n1 0 0 0 2 2\n0\n";
    std::ofstream(with_difficult()) << "# 0\n" << image << "\n1\n2\n3\n1\n1 0 1 0 0 2 2\n0\n";
  }

  void write_rows() const {
    Hdf5Writer writer(folder_ / "rows.h5", {{"data", "F32", {3, 2}}});
    const float values[6] = {1, 2, 3, 4, 5, 6};
    writer.add(values, sizeof values);
    writer.commit();
    write_file_atomically(rows(), (folder_ / "rows.h5").string());
  }

  std::filesystem::path folder_;

 public:
  const VolumeFolder volumes{"device_code_volumes"};
};

std::vector<Trial> trials(const Dataset& dataset) {
  return {
      {"type: 'Accuracy' top: 'a' top: 'b' accuracy_param { top_k: 2 }", {kRows, kLabels}},
      {"type: 'AnnotatedData' top: 'data' top: 'label' data_param { source: '" + dataset.annotated() +
       "' batch_size: 4 backend: LMDB } transform_param { mirror: true }"},
      {"type: 'ArgMax' argmax_param { top_k: 3 out_max_val: true }", {kImage}},
      {"type: 'ArgMax' argmax_param { top_k: 3 axis: 2 }", {kImage}},
      {"type: 'BboxAccuracy' top: 'after' top: 'before'", {Array({6, 8}, 0.5), Array({6, 5}, 1), Array({6, 6}, 1)}},
      {"type: 'BoxData' top: 'data' top: 'label' data_param { source: '" + dataset.boxes() +
       "' batch_size: 3 backend: LMDB }"},
      {"type: 'BoxGroupOutput' top: 'rois' top: 'scored' box_group_output_param { box_group_param { field_w: 8 "
       "field_w: 9 field_h: 4 field_h: 9 stride: 8 } }",
       {random({4, 2, 6, 5}, 5, 0, 1), random({4, 4, 6, 5}, 6)}},
      {"type: 'BoxOutput' top: 'rois' top: 'scored' box_output_param { field_w: 8 field_h: 4 downsample_rate: 8 }",
       {random({2, 7, 6, 5}, 5)}},
      {"type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 }",
       {Array({6, 5}, 1), kLabels, kLabels, kRows}},
      {"type: 'ConnectedComponent'", {random_labels({2, 2, 6, 5}, 5, 3)}},
      {"type: 'ContinuationIndicator' continuation_indicator_param { time_step: 3 axis: 1 }", {kRows}},
      {"type: 'CPMData' top: 'data' top: 'label' data_param { source: '" + dataset.poses() +
       "' batch_size: 2 } cpm_transform_param { num_parts: 56 np_in_lmdb: 17 crop_size_x: 8 crop_size_y: 12 }"},
      {"type: 'CTCGreedyDecoder'", {random({9, 6, 4}, 5)}},
      {"type: 'CTCGreedyDecoder'", {random({9, 6, 4}, 5), kLabels}},
      {"type: 'Data' top: 'data' top: 'label' data_param { source: '" + dataset.path() +
       "' batch_size: 4 backend: LMDB }"},
      {"type: 'DecodeBBox'", {random({6, 8}, 5), Array({6, 5}, 1)}},
      {"type: 'DenseCRF' dense_crf_param { pos_w: 1 pos_xy_std: 2 bi_w: 2 bi_xy_std: 3 bi_rgb_std: 0.2 }",
       {kImage, Array({2, 1, 1, 2}, {6, 5, 4, 3}), random({2, 3, 6, 5}, 5)}},
      {"type: 'DenseImageData' top: 'data' top: 'label' dense_image_data_param { source: '" + dataset.pairs() +
       "' batch_size: 3 label_divide_factor: 2 } transform_param { mirror: true mean_value: 3 scale: 0.1 }"},
      {"type: 'DetectNetTransformation' detectnet_groundtruth_param { image_size_x: 8 image_size_y: 8 }",
       {random({2, 3, 9, 10}, 5, 0, 255), Array({2, 17, 16}, 16)}},
      {"type: 'DetectionAccuracy' top: 'a' top: 'b' detection_accuracy_param { cls_num: 2 field_w: 9 field_h: 9 "
       "downsample_rate: 8 }",
       {random({2, 6, 6, 5}, 5), Array({2, 6, 6, 5}, 1)}},
      {"type: 'DetectionData' top: 'data' top: 'label' top: 'boxes' transform_param { mirror: true mean_value: 3 } "
       "detection_data_param { source: '" +
       dataset.with_difficult() +
       "' batch_size: 2 crop_width: 8 crop_height: 9 stride: 2 field_w: 4 field_h: 4 output_gt_boxes: true "
       "distort_param { brightness_prob: 1 brightness_delta: 9 } }"},
      {"type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 }",
       {Array({6, 7}, 1), Array({2, 8}, 1), Array({1, 2}, 9)}},
      {"type: 'DetectionGroupAccuracy' top: 'a' top: 'b' detection_group_accuracy_param { cls_num: 2 field_w: 9 "
       "field_w: 5 field_h: 9 field_h: 5 stride: 8 }",
       {random({4, 2, 6, 5}, 5), random({4, 4, 6, 5}, 6), Array({4, 6, 6, 5}, 1)}},
      {"type: 'DetectionGroupLoss' detection_group_loss_param { cls_num: 2 field_w: 9 field_w: 5 field_h: 9 "
       "field_h: 5 stride: 8 }",
       {random({4, 2, 6, 5}, 5), random({4, 4, 6, 5}, 6), Array({4, 6, 6, 5}, 1)}},
      {"type: 'DetectionLoss' detection_loss_param { cls_num: 2 field_w: 9 field_h: 9 downsample_rate: 8 }",
       {random({2, 6, 6, 5}, 5), Array({2, 6, 6, 5}, 1)}},
      {"type: 'DummyData' dummy_data_param { shape { dim: 99 } data_filler { value: 3 } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 99 } data_filler { type: 'uniform' } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 99 } data_filler { type: 'gaussian' sparse: 5 } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 9 dim: 7 } data_filler { type: 'positive_unitball' } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 9 dim: 7 } data_filler { type: 'gaussian_unitball' } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 9 dim: 7 } data_filler { type: 'msra' } }"},
      {"type: 'DummyData' dummy_data_param { shape { dim: 1 dim: 2 dim: 4 dim: 4 } data_filler { type: 'bilinear' } }"},
      {"type: 'EvalData' top: 'data' top: 'boxes' top: 'sizes' transform_param { mean_value: 3 } eval_data_param { "
       "source: '" +
       dataset.with_difficult() + "' batch_size: 2 short_size: 32 long_size: 64 }"},
      {"type: 'FQActive'", {kOther}},
      {"type: 'FQConvolution' convolution_param { num_output: 3 kernel_size: 3 }", {kImage}},
      {"type: 'FQInnerProduct' inner_product_param { num_output: 3 }", {kRows}},
      {"type: 'FrcnnOutput'", {random({6, 3}, 5, 0, 1), random({6, 12}, 6), Array({6, 5}, 0), Array({1, 2}, 40)}},
      {"type: 'HardMining' bottom: 'a' bottom: 'b' bottom: 'c' top: 'd' top: 'e' hard_mining_param { "
       "num_roi_per_image: 2 }",
       {random({6}, 5), Array({6, 5}, 1), kLabels}},
      {"type: 'ImageData' top: 'data' top: 'label' image_data_param { source: '" + dataset.list() +
       "' batch_size: 3 }"},
      {"type: 'ImageLabelmapData' top: 'data' top: 'label' image_data_param { source: '" + dataset.pairs() +
       "' batch_size: 3 }"},
      {"type: 'ImageSegData' top: 'data' top: 'label' top: 'sizes' image_data_param { source: '" + dataset.pairs() +
       "' batch_size: 3 } transform_param { crop_size: 4 mean_value: 3 mirror: true }"},
      {"type: 'ImageGtData' top: 'data' top: 'label' top: 'boxes' image_gt_data_param { source: '" + dataset.objects() +
       "' batch_size: 2 resize_width: 9 resize_height: 8 crop_width: 4 crop_height: 6 downsample_rate: 2 field_w: 4 "
       "field_h: 4 output_gt_boxes: true do_multiple_scale: true min_scale: 2 max_scale: 9 }"},
      {"type: 'Input' input_param { shape { dim: 3 } }"},
      {"type: 'LabelsequenceAccuracy'", {random({6, 3, 4}, 5), kLabels}},
      {"type: 'MatRead' top: 'data' mat_read_param { prefix: '" + dataset.mat_files() + "' }"},
      {"type: 'MatWrite' mat_write_param { prefix: '" + dataset.mat_files() + "written_' }", {kImage, kRows}},
      {"type: 'Parameter' parameter_param { shape { dim: 9 } }"},
      {"type: 'Proposal' top: 'rois' top: 'scores' proposal_param { ratio: 1 scale: 1 scale: 2 post_nms_topn: 5 }",
       {kImage, random({2, 8, 6, 5}, 5), Array({2, 3}, 40)}},
      {"type: 'ProposalTarget' top: 'a' top: 'b' top: 'c' top: 'd' top: 'e' top: 'f' top: 'g' proposal_target_param { "
       "cls_num: 2 batch_size: 9 num_img_per_batch: 2 img_width: 90 img_height: 80 }",
       {Array({6, 5}, 1), Array({2, 7}, 1)}},
      {"type: 'Reorder'", {kImage}},
      {"type: 'ScaleRoute' bottom: 'a' bottom: 'b' top: 'c' top: 'd' scale_route_param { high_scale: 9 }",
       {Array({6, 5}, 1), kLabels}},
      {"type: 'SegAccuracy' seg_accuracy_param { ignore_label: 3 }", {kRows, kLabels}},
      {"type: 'Silence'", {kImage, kOther}},
      {"type: 'Split' top: 'a' top: 'b'", {kImage}},
      {"type: 'Threshold'", {kOther}},
      {"type: 'VideoData' top: 'data' top: 'label' video_data_param { source: '" + dataset.clips() +
       "' batch_size: 3 new_length: 2 } transform_param { crop_size: 3 mirror: true mean_value: 3 }"},
      {"type: 'VideoSegmentationData' top: 'data' top: 'truth' image_data_param { source: '" +
       dataset.volumes.path("list") + "' batch_size: 3 } transform_param { crop_size: 3 mirror: true mean_value: 3 }"},
      {"type: 'VideoWithVoxelTruthData' top: 'data' top: 'truth' image_data_param { source: '" +
       dataset.volumes.path("list") +
       "' batch_size: 3 num_truth_channels: 2 use_byte_input: true is_flow: true } "
       "transform_param { crop_size: 3 mirror: true scale: 2 }"},
      {"type: 'WindowSegData' top: 'data' top: 'label' image_data_param { source: '" + dataset.pair_windows() +
       "' batch_size: 3 new_height: 4 new_width: 5 } transform_param { crop_size: 3 mirror: true mean_value: 3 }"},
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

/// Equal up to rounding; values that were not written must be equal, too.
void expect_same(const Array& got, const Array& expected, const std::string& what) {
  if (!same_bits(got, expected)) expect_near(got, expected, 1e-5, what);
}

/// Runs the trial on `device` and expects the result of the CPU.
void run(const Trial& trial, const Device& device) {
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
  if (!options.backward) return;
  on_cpu.backward(dy);
  on_device.backward(dy);
  for (size_t i = 0; i < trial.x.size(); ++i)
    if (on_device.has_dx(i)) expect_same(on_device.dx(i), on_cpu.dx(i), "dx" + std::to_string(i));
  for (size_t i = 0; i < on_cpu.w().size(); ++i)
    if (on_device.has_dw(i)) expect_same(on_device.dw(i), on_cpu.dw(i), "dw" + std::to_string(i));
}

TEST(DeviceCode, OtherLayersMatchTheCpu) {
  const Dataset dataset;
  std::vector<Trial> list = trials(dataset);
  if (Dataset::has_hdf5())
    list.push_back({"type: 'HDF5Data' top: 'data' hdf5_data_param { source: '" + dataset.rows() + "' batch_size: 4 }"});
  for (const Device& device : tested_devices())
    for (const Trial& trial : list) {
      SCOPED_TRACE(device.str() + ": " + trial.layer);
      run(trial, device);
    }
}

}  // namespace
}  // namespace cortado::harness
