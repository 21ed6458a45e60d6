#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "core/error.h"
#include "data/formats/datum.h"
#include "data/lmdb/lmdb_writer.h"
#include "tests/layers/fit_motion.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

enum Coco {
  kNose,
  kLeftEye,
  kRightEye,
  kLeftEar,
  kRightEar,
  kLeftShoulder,
  kRightShoulder,
  kLeftElbow,
  kRightElbow,
  kLeftWrist,
  kRightWrist,
  kLeftHip,
  kRightHip,
  kLeftKnee,
  kRightKnee,
  kLeftAnkle,
  kRightAnkle,
  kNeck
};

/// The order of joints in label maps, and of limbs, as published.
const std::vector<Coco> kPoseJoints = {kNose,      kNeck,      kRightShoulder, kRightElbow, kRightWrist, kLeftShoulder,
                                       kLeftElbow, kLeftWrist, kRightHip,      kRightKnee,  kRightAnkle, kLeftHip,
                                       kLeftKnee,  kLeftAnkle, kRightEye,      kLeftEye,    kRightEar,   kLeftEar};
const std::vector<std::pair<Coco, Coco>> kPoseLimbs = {{kNeck, kRightHip},
                                                       {kRightHip, kRightKnee},
                                                       {kRightKnee, kRightAnkle},
                                                       {kNeck, kLeftHip},
                                                       {kLeftHip, kLeftKnee},
                                                       {kLeftKnee, kLeftAnkle},
                                                       {kNeck, kRightShoulder},
                                                       {kRightShoulder, kRightElbow},
                                                       {kRightElbow, kRightWrist},
                                                       {kRightShoulder, kRightEar},
                                                       {kNeck, kLeftShoulder},
                                                       {kLeftShoulder, kLeftElbow},
                                                       {kLeftElbow, kLeftWrist},
                                                       {kLeftShoulder, kLeftEar},
                                                       {kNeck, kNose},
                                                       {kNose, kRightEye},
                                                       {kNose, kLeftEye},
                                                       {kRightEye, kRightEar},
                                                       {kLeftEye, kLeftEar}};

struct PosePoint {
  double x, y;  ///< from 1
  double visible = 1;
};
using Pose = std::vector<PosePoint>;

struct PoseScene {
  int height = 60, width = 80;
  double x = 40, y = 30, scale = 0.5;
  std::vector<Pose> people;
  std::function<int(int c, int h, int w)> picture, known;
};

/// The record of a scene, as the scripts write it.
std::string pose_record(const PoseScene& scene) {
  const size_t pixels = size_t(scene.height * scene.width), row = size_t(scene.width);
  std::string bytes(6 * pixels, '\0');
  for (int c = 0; c < 5; ++c)
    for (int h = 0; h < scene.height; ++h)
      for (int w = 0; w < scene.width && c != 3; ++w)
        bytes[size_t(c) * pixels + size_t(h) * row + size_t(w)] =
            char(c == 4 ? scene.known(c, h, w) : scene.picture(c, h, w));
  const auto put = [&](size_t at, size_t index, double value) {
    const float number = float(value);
    std::memcpy(&bytes[3 * pixels + at * row + 4 * index], &number, sizeof number);
  };
  const size_t others = scene.people.size() - 1;
  std::memcpy(&bytes[3 * pixels], "COCO", 5);
  put(1, 0, scene.height), put(1, 1, scene.width);
  bytes[3 * pixels + 2 * row + 1] = char(others);
  put(3, 0, scene.x), put(3, 1, scene.y), put(4, 0, scene.scale);
  for (size_t p = 0; p < scene.people.size(); ++p) {
    const size_t first = p == 0 ? 5 : 9 + others + 3 * (p - 1);
    for (size_t j = 0; j < scene.people[p].size(); ++j) {
      put(first, j, scene.people[p][j].x), put(first + 1, j, scene.people[p][j].y);
      put(first + 2, j, scene.people[p][j].visible);
    }
  }
  return data::make_datum(6, scene.height, scene.width, bytes, 0);
}

Pose random_pose(uint64_t key, double left, double top, double width, double height) {
  const Array x = random({17}, key, left, left + width), y = random({17}, key + 1, top, top + height);
  Pose pose;
  for (size_t j = 0; j < 17; ++j) pose.push_back({std::round(x[j]), std::round(y[j])});
  return pose;
}

struct PoseMap {
  std::vector<double> from = {1, 0, 0,
                              0, 1, 0};  ///< from the coordinates of the record, from 0, to those of the sample
  bool flip = false;
  PosePoint operator()(const PosePoint& p) const {
    const double x = p.x - 1, y = p.y - 1;
    return {from[0] * x + from[1] * y + from[2], from[3] * x + from[4] * y + from[5], p.visible};
  }
};

/// A joint of a person where the map puts it; invisible if it has no place in the picture.
PosePoint posed(const PoseScene& scene, const Pose& pose, Coco joint, const PoseMap& map) {
  if (joint == kNeck) {
    const PosePoint a = posed(scene, pose, kLeftShoulder, map), b = posed(scene, pose, kRightShoulder, map);
    return {(a.x + b.x) / 2, (a.y + b.y) / 2, std::min(a.visible, b.visible)};
  }
  int index = joint;
  if (map.flip && index > 0) index = index % 2 == 1 ? index + 1 : index - 1;  // left and right take turns
  PosePoint point = pose[size_t(index)];
  const bool inside = point.x >= 1 && point.y >= 1 && point.x < scene.width + 1 && point.y < scene.height + 1;
  point.visible = point.visible == 3 ? -1 : inside ? 1 : 0;
  return map(point);
}

/// The maps after the weights: limbs, joints, background.
Array expected_maps(const PoseScene& scene, const PoseMap& map, int64_t height, int64_t width, double stride,
                    double sigma) {
  Array maps({57, height, width}, 0.0);
  const size_t places = size_t(height * width);
  for (size_t l = 0; l < kPoseLimbs.size(); ++l)
    for (const Pose& pose : scene.people) {
      const PosePoint a = posed(scene, pose, kPoseLimbs[l].first, map),
                      b = posed(scene, pose, kPoseLimbs[l].second, map);
      const double length = std::hypot(b.x - a.x, b.y - a.y);
      if (a.visible <= 0 || b.visible <= 0 || length == 0) continue;
      for (size_t p = 0; p < places; ++p) {
        const double x = double(int64_t(p) % width), y = double(int64_t(p) / width);
        const auto in = [](double at, double u, double v) {
          return at >= std::round(std::min(u, v) - 1) && at < std::round(std::max(u, v) + 1);
        };
        if (!in(x, a.x / stride, b.x / stride) || !in(y, a.y / stride, b.y / stride)) continue;
        const double ux = (b.x - a.x) / length, uy = (b.y - a.y) / length;
        if (std::fabs((x - a.x / stride) * uy - (y - a.y / stride) * ux) > 1) continue;
        maps[2 * l * places + p] = ux, maps[(2 * l + 1) * places + p] = uy;
      }
    }
  for (size_t p = 0; p < places; ++p) {
    double most = 0;
    for (size_t j = 0; j < 18; ++j) {
      double sum = 0;
      for (const Pose& pose : scene.people) {
        const PosePoint at = posed(scene, pose, kPoseJoints[j], map);
        const double x = (double(int64_t(p) % width) + 0.5) * stride - 0.5 - at.x;
        const double y = (double(int64_t(p) / width) + 0.5) * stride - 0.5 - at.y;
        const double term = std::exp(-(x * x + y * y) / 2 / sigma / sigma);
        if (at.visible > 0 && term >= 0.01) sum += term;
      }
      maps[(38 + j) * places + p] = std::min(sum, 1.0);
      most = std::max(most, std::min(sum, 1.0));
    }
    maps[56 * places + p] = 1 - most;
  }
  return maps;
}

class CPMData : public testing::Test {
 protected:
  void write(const std::vector<std::string>& records) const {
    data::LmdbWriter writer(folder_.path("lmdb"));
    for (size_t i = 0; i < records.size(); ++i) writer.put("0" + std::to_string(i), records[i]);
    writer.commit();
  }
  std::string layer(std::string options, int batch = 1) const {
    const std::pair<const char*, const char*> defaults[] = {{"crop_size_x", "64"}, {"crop_size_y", "48"},
                                                            {"stride", "8"},       {"target_dist", "0.6"},
                                                            {"num_parts", "56"},   {"np_in_lmdb", "17"}};
    for (const auto& [name, value] : defaults)
      if (options.find(name) == std::string::npos) options += std::string(" ") + name + ": " + value;
    return "type: 'CPMData' top: 'data' top: 'label' data_param { backend: LMDB source: '" + folder_.path("lmdb") +
           "' batch_size: " + std::to_string(batch) + " } cpm_transform_param { " + options + " }";
  }

  const PairFolder folder_{"cpm_data"};
};

Array part_of(const Array& from, size_t first, const Shape& shape) {
  const auto begin = from.values.begin() + int64_t(first);
  return {shape, std::vector<double>(begin, begin + shape.count())};
}

PoseScene noisy_scene(uint64_t key) {
  PoseScene scene;
  const Array noise = random({5, 60, 80}, key, 0, 255);
  scene.picture = [noise](int c, int h, int w) { return int(noise[size_t((c * 60 + h) * 80 + w)]); };
  scene.known = [](int, int h, int w) { return h > 20 && w > 30 && h < 35 ? 0 : 255; };
  scene.people = {random_pose(key + 1, 20, 10, 40, 40), random_pose(key + 5, 10, 10, 60, 40),
                  random_pose(key + 9, 40, 20, 60, 50)};
  scene.people[1][kLeftKnee] = {0, 0, 2};
  scene.people[2][kNose] = scene.people[0][kNose];
  return scene;
}

TEST_F(CPMData, ScalesTheRecordInTests) {
  const std::vector<PoseScene> scenes = {noisy_scene(3), noisy_scene(50)};
  write({pose_record(scenes[0]), pose_record(scenes[1])});
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    LayerRun run(layer("sigma: 5", 2), {}, {.device = device, .phase = caffe::TEST, .backward = false});
    EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 6, 48, 64}, {2, 114, 6, 8}}));
    run.forward();
    const double f = double(0.6f) / 0.5, left = std::round(f * 39) - 32, top = std::round(f * 29) - 24;
    for (size_t n = 0; n < 2; ++n) {
      const PoseScene& scene = scenes[n];
      const auto sampled = [&](int c, double x, double y, double outside, const auto& pixel) {
        return cubic_at((y + top + 0.5) / f - 0.5, [&](int h) {
          return cubic_at((x + left + 0.5) / f - 0.5, [&](int w) {
            return h < 0 || h >= 60 || w < 0 || w >= 80 ? outside : double(pixel(c, h, w));
          });
        });
      };
      Array pixels({6, 48, 64}, 0.0), weights({57, 6, 8});
      for (size_t i = 0; i < 3 * 48 * 64; ++i)
        pixels[i] = (std::clamp(sampled(int(i / (48 * 64)), double(i % 64), double(i / 64 % 48), 128, scene.picture),
                                0.0, 255.0) -
                     128) /
                    256;
      expect_near(part_of(run.y()[0], n * 6 * 48 * 64, pixels.shape), pixels, 1e-5, "pixels");
      for (size_t i = 0; i < weights.size(); ++i)
        weights[i] =
            std::clamp(sampled(4, double(i % 8) * 8 + 3.5, double(i / 8 % 6) * 8 + 3.5, 255, scene.known), 0.0, 255.0) /
            255;
      EXPECT_NEAR(weights[20], 0, 0.2);
      expect_near(part_of(run.y()[1], n * 114 * 48, weights.shape), weights, 1e-5, "weights");
      const Array maps = expected_maps(scene, {{f, 0, -left, 0, f, -top}}, 6, 8, 8, 5);
      expect_near(part_of(run.y()[1], (n * 114 + 57) * 48, maps.shape), maps, 1e-4, "maps");
    }
  }
}

TEST_F(CPMData, HasNoWeightsForJointsThatAreNeverLabelled) {
  PoseScene scene = noisy_scene(7);
  scene.known = [](int, int, int) { return 255; };
  scene.people[0][kRightWrist].visible = 3;
  write({pose_record(scene)});
  LayerRun run(layer(""), {}, {.phase = caffe::TEST, .backward = false});
  run.forward();
  for (size_t c = 0; c < 57; ++c) EXPECT_NEAR(run.y()[1][c * 48 + 20], c == 4 ? 0 : 1, 1e-6) << c;
}

/// The motion of pixels is found from the picture that results. It predicts the maps.
TEST_F(CPMData, MovesJointsWithPixels) {
  PoseScene scene;
  scene.height = 150, scene.width = 180, scene.x = 92, scene.y = 71, scene.scale = 0.6;
  scene.people = {random_pose(5, 60, 40, 60, 60), random_pose(15, 70, 30, 60, 60)};
  scene.picture = [](int c, int h, int w) { return c == 0 ? w : c == 1 ? h : 200; };
  scene.known = [](int, int, int) { return 255; };
  write({pose_record(scene)});
  LayerRun run(
      layer("flip_prob: 0.5 max_rotate_degree: 30 scale_prob: 0.8 scale_min: 0.7 scale_max: 1.4 center_perterb_max: 9"),
      {}, {.backward = false});
  std::set<bool> flips;
  std::set<double> factors, turns, middles;
  for (int pass = 0; pass < 40; ++pass) {
    run.forward();
    Array seen = part_of(run.y()[0], 0, {1, 3, 48, 64});
    for (double& value : seen.values) value = value * 256 + 128;
    std::vector<double> m = fit_motion(seen, 150, 180);  // from pixels of the sample to those of the record
    const double area = m[0] * m[4] - m[1] * m[3], factor = 1 / std::sqrt(std::fabs(area));
    const double half = (1 - 1 / factor) / 2;
    m[2] += half, m[5] += half;
    PoseMap map;
    map.flip = area < 0;
    map.from = {m[4] / area,  -m[1] / area, (m[1] * m[5] - m[4] * m[2]) / area,
                -m[3] / area, m[0] / area,  (m[3] * m[2] - m[0] * m[5]) / area};
    const Array maps = expected_maps(scene, map, 6, 8, 8, 7);
    size_t differing = 0;
    for (size_t i = 0; i < maps.size(); ++i) differing += std::fabs(maps[i] - run.y()[1][57 * 48 + i]) > 0.02;
    EXPECT_LE(differing, 4u) << "positions at the edges of limbs may differ " << pass;
    const PosePoint middle = map({scene.x, scene.y});
    EXPECT_TRUE(std::fabs(middle.x - 31.5) <= 10.6 && std::fabs(middle.y - 24) <= 10.1) << middle.x << " " << middle.y;
    EXPECT_TRUE(factor > 0.699 && factor < 1.401) << factor;
    const double turn = std::atan2(m[1], m[4]) * 180 / M_PI;
    EXPECT_LE(std::fabs(turn), 30.1);
    flips.insert(map.flip), factors.insert(std::round(factor * 50)), turns.insert(std::round(turn)),
        middles.insert(std::round(middle.x));
  }
  EXPECT_EQ(flips.size(), 2u);
  EXPECT_TRUE(factors.size() > 12 && turns.size() > 15 && middles.size() > 9)
      << factors.size() << " " << turns.size() << " " << middles.size();
}

TEST_F(CPMData, LabelsMpiPeople) {
  PoseScene scene = noisy_scene(9);
  scene.people.resize(1);
  scene.people[0].resize(16, {1, 1});
  write({pose_record(scene)});
  LayerRun run(layer("num_parts: 43 np_in_lmdb: 16 sigma: 3"), {}, {.phase = caffe::TEST, .backward = false});
  EXPECT_EQ(run.made().shapes.y[1], (Shape{1, 88, 6, 8}));
  run.forward();
  // The head is joint 9 of the record, and the middle is between joints 6 and 7.
  const auto expect_joint = [&](size_t map, double x, double y) {
    const double f = double(0.6f) / 0.5;
    x = f * (x - 1) - std::round(f * 39) + 32, y = f * (y - 1) - std::round(f * 29) + 24;
    for (size_t p = 0; p < 48; ++p) {
      const double dx = double(p % 8) * 8 + 3.5 - x, dy = double(p / 8) * 8 + 3.5 - y,
                   term = std::exp(-(dx * dx + dy * dy) / 18);
      EXPECT_NEAR(run.y()[1][(44 + 28 + map) * 48 + p], term < 0.01 ? 0 : term, 1e-4) << map;
    }
  };
  const Pose& pose = scene.people[0];
  expect_joint(0, pose[9].x, pose[9].y);
  expect_joint(14, (pose[6].x + pose[7].x) / 2, (pose[6].y + pose[7].y) / 2);
}

TEST_F(CPMData, RejectsOtherRecords) {
  const auto expect_error = [](const std::string& record) {
    const PairFolder folder("cpm_data_bad");
    data::LmdbWriter writer(folder.path("lmdb"));
    writer.put("0", record);
    writer.commit();
    LayerRun run("type: 'CPMData' top: 'd' top: 'l' data_param { batch_size: 1 source: '" + folder.path("lmdb") +
                     "' } cpm_transform_param { num_parts: 56 np_in_lmdb: 17 }",
                 {}, {.backward = false});
    EXPECT_THROW(run.forward(), Error);
  };
  expect_error(data::make_datum(3, 2, 3, std::string(18, 'a'), 0));
  expect_error(data::make_datum(6, 2, 3, std::string(36, 'a'), 0));
  expect_error(data::make_datum(6, 60, 20, std::string(7200, '\1'), 0));
  for (const double scale : {0.0, -1.0, double(NAN), double(INFINITY)}) {
    PoseScene scene = noisy_scene(9);
    scene.scale = scale;
    expect_error(pose_record(scene));
  }
  PoseScene scene = noisy_scene(9);
  scene.people[1][3].x = NAN;
  expect_error(pose_record(scene));
  std::string crowd = pose_record(noisy_scene(9));
  crowd[crowd.find("COCO") + 161] = char(255);
  expect_error(crowd);
}

TEST_F(CPMData, ReportsErrors) {
  write({pose_record(noisy_scene(3))});
  const auto expect = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error(layer(options), {}, "cpm_transform_param." + field, words);
  };
  expect("num_parts: 14", "num_parts", "14");
  expect("np_in_lmdb: 16", "np_in_lmdb", "16");
  expect("stride: 0", "stride", "0");
  expect("crop_size_x: 60", "crop_size_x", "not a multiple");
  expect("crop_size: 9", "crop_size", "not supported");
  expect("do_clahe: true", "do_clahe", "not supported");
  expect("visualize: true", "visualize", "not supported");
  expect("aug_way: 'table'", "aug_way", "not supported");
  expect("transform_body_joint: false", "transform_body_joint", "not supported");
  expect("flip_prob: 2", "flip_prob", "2");
  expect("max_rotate_degree: nan", "max_rotate_degree", "nan");
  expect("scale_min: 0", "scale_min", "0");
  expect("scale_min: 2 scale_max: 1", "scale_max", "1");
  expect("sigma: 0", "sigma", "0");
  expect_field_error("type: 'CPMData' top: 'd' top: 'l' cpm_transform_param { num_parts: 56 np_in_lmdb: 17 }", {},
                     "data_param.source", "not set");
  expect_field_error(
      "type: 'CPMData' top: 'd' top: 'l' data_param { source: 'a' } cpm_transform_param { num_parts: 56 }", {},
      "data_param.batch_size", "0");
  expect_field_error(
      "type: 'CPMData' top: 'd' top: 'l' data_param { source: 'a' batch_size: 1 shuffle: true } cpm_transform_param { "
      "num_parts: 56 }",
      {}, "data_param.shuffle", "in order");
}

TEST_F(CPMData, KnowsShapesWithoutData) {
  EXPECT_EQ(
      shapes_without_files(
          "CPMData",
          "data_param { source: 'none' batch_size: 3 } cpm_transform_param { num_parts: 56 np_in_lmdb: 17 stride: 8 }",
          2),
      (std::vector<Shape>{{3, 6, 368, 368}, {3, 114, 46, 46}}));
}

}  // namespace
}  // namespace cortado::harness
