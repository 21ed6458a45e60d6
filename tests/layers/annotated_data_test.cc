#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "data/formats/datum.h"
#include "data/image/png.h"
#include "data/lmdb/lmdb_writer.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

constexpr int kSide = 64, kRecords = 6;

/// Six dark pictures with one bright rectangle each; the object of record i has label i + 1. Every other record also
/// has a difficult object of label 9, which is not visible.
class AnnotatedData : public testing::Test {
 protected:
  AnnotatedData()
      : folder_(std::filesystem::temp_directory_path() / ("cortado_annotated_layer_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    data::LmdbWriter writer(source());
    for (int i = 0; i < kRecords; ++i) {
      std::vector<data::Object> objects = {{i + 1, 0, box(i), false}};
      if (i % 2 == 1) objects.push_back({9, 3, {0.25, 0.25, 0.75, 0.75}, true});
      writer.put("0" + std::to_string(i), data::make_annotated_datum(picture(i), objects));
    }
    writer.commit();
  }
  ~AnnotatedData() override { std::filesystem::remove_all(folder_); }

  static Box box(int i) {
    const float left = float(4 + 3 * i) / kSide, top = float(8 + 2 * i) / kSide;
    return {left, top, left + 0.375f, top + 0.25f};
  }

  static std::string picture(int i) {
    std::string bytes(size_t(3 * kSide * kSide), '\0');
    const Box where = box(i);
    for (int c = 0; c < 3; ++c)
      for (int y = int(where.y0 * kSide); y < int(where.y1 * kSide); ++y)
        for (int x = int(where.x0 * kSide); x < int(where.x1 * kSide); ++x)
          bytes[size_t((c * kSide + y) * kSide + x)] = char(200);
    return data::make_datum(3, kSide, kSide, bytes, 0);
  }

  std::string source() const { return folder_ / "lmdb"; }
  std::string layer(const std::string& more = "") const {
    return "type: 'AnnotatedData' top: 'data' top: 'label' data_param { source: '" + source() +
           "' batch_size: 4 backend: LMDB } " + more;
  }

 private:
  std::filesystem::path folder_;
};

/// The bright region of an image of the batch, relative to its size.
Box bright_part(const Array& images, int64_t item) {
  const int64_t height = images.shape[2], width = images.shape[3];
  int64_t x0 = width, y0 = height, x1 = -1, y1 = -1;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      if (images[size_t((item * 3 * height + y) * width + x)] < 100) continue;
      x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, y), y1 = std::max(y1, y);
    }
  return {float(x0) / float(width), float(y0) / float(height), float(x1 + 1) / float(width),
          float(y1 + 1) / float(height)};
}

double distance(const Box& a, const Box& b) {
  return std::max({std::fabs(a.x0 - b.x0), std::fabs(a.y0 - b.y0), std::fabs(a.x1 - b.x1), std::fabs(a.y1 - b.y1)});
}

/// For each item the box of the visible object; an empty box if there is none.
std::vector<Box> boxes_of(const Array& rows, size_t items) {
  std::vector<Box> boxes(items);
  for (size_t i = 0; i < rows.size(); i += 8)
    if (rows[i] >= 0 && rows[i + 1] != 9)
      boxes[size_t(rows[i])] = {float(rows[i + 3]), float(rows[i + 4]), float(rows[i + 5]), float(rows[i + 6])};
  return boxes;
}

TEST_F(AnnotatedData, HasARowForEachObject) {
  LayerRun run(layer(), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{4, 3, kSide, kSide}, {1, 1, 8, 8}}));
  run.forward();
  const Array& rows = run.y()[1];
  const double labels[] = {1, 2, 9, 3, 4, 9}, items[] = {0, 1, 1, 2, 3, 3};
  for (size_t i = 0; i < 8; ++i) {
    if (i >= 6) {
      for (size_t k = 0; k < 8; ++k) EXPECT_EQ(rows[i * 8 + k], -1);
      continue;
    }
    const bool difficult = labels[i] == 9;
    const Box where = difficult ? Box{0.25, 0.25, 0.75, 0.75} : box(int(items[i]));
    const double wanted[] = {items[i], labels[i], difficult ? 3.0 : 0.0, where.x0, where.y0,
                             where.x1, where.y1,  double(difficult)};
    for (size_t k = 0; k < 8; ++k) EXPECT_NEAR(rows[i * 8 + k], wanted[k], 1e-6) << i << " " << k;
  }
}

TEST_F(AnnotatedData, BoxesFollowThePixels) {
  const std::string transforms[] = {
      "transform_param { mirror: true }",
      "transform_param { resize_param { height: 48 width: 96 } }",
      "transform_param { mirror: true resize_param { height: 80 width: 80 resize_mode: FIT_LARGE_SIZE_AND_PAD } }",
      "transform_param { mirror: true expand_param { prob: 1 max_expand_ratio: 3 } resize_param { height: 128 width: "
      "128 } }",
      "transform_param { mirror: true expand_param { prob: 0.5 max_expand_ratio: 2 } resize_param { height: 128 width: "
      "128 } } "
      "annotated_data_param { batch_sampler { max_sample: 1 sampler { min_scale: 0.3 max_scale: 1 min_aspect_ratio: "
      "0.5 "
      "max_aspect_ratio: 2 } sample_constraint { min_jaccard_overlap: 0.1 } } }",
      "transform_param { mirror: true resize_param { height: 96 width: 96 } } annotated_data_param { yolo_data_jitter: "
      "0.3 }"};
  for (const std::string& transform : transforms) {
    LayerRun run(layer(transform), {}, {.backward = false});
    int seen = 0;
    for (int batch = 0; batch < 12; ++batch) {
      run.forward();
      const std::vector<Box> boxes = boxes_of(run.y()[1], 4);
      for (int64_t item = 0; item < 4; ++item) {
        const Box bright = bright_part(run.y()[0], item), box = boxes[size_t(item)];
        if (box_width(box) < 0.08f || box_height(box) < 0.08f) continue;  // a sliver at the edge
        ++seen;
        EXPECT_LT(distance(bright, box), 0.03) << transform << " batch " << batch << " item " << item;
      }
    }
    EXPECT_GT(seen, 30) << transform;
  }
}

TEST_F(AnnotatedData, CropsMatchTheirSampler) {
  const std::string sampler =
      "transform_param { resize_param { height: 64 width: 64 } } annotated_data_param { batch_sampler { max_sample: 1 "
      "max_trials: 500 sampler { min_scale: 0.4 max_scale: 0.9 } sample_constraint { min_object_coverage: 1 } } }";
  LayerRun run(layer(sampler), {}, {.backward = false});
  for (int batch = 0; batch < 6; ++batch) {
    run.forward();
    const Array& rows = run.y()[1];
    for (size_t item = 0; item < 4; ++item) {
      bool whole = false;  // an object that touches no edge, or that has its full area
      for (size_t i = 0; i < rows.size(); i += 8)
        whole = whole ||
                (rows[i] == double(item) && rows[i + 3] >= 0 && rows[i + 6] <= 1 && rows[i + 5] - rows[i + 3] > 0.375);
      EXPECT_TRUE(whole) << batch << " " << item;
    }
  }
}

TEST_F(AnnotatedData, KeepsObjectsByEmitConstraint) {
  const auto rows_with = [&](const std::string& more) {
    LayerRun run(layer("transform_param { crop_size: 24 " + more + " }"), {}, {.backward = false});
    int rows = 0;
    for (int batch = 0; batch < 24; ++batch) {
      run.forward();
      for (size_t i = 0; i < run.y()[1].size(); i += 8) rows += run.y()[1][i] >= 0 && run.y()[1][i + 1] != 9;
    }
    return rows;
  };
  const int all = rows_with(""), centres = rows_with("emit_constraint { emit_type: CENTER }"),
            most = rows_with("emit_constraint { emit_type: MIN_OVERLAP emit_overlap: 0.9 }");
  EXPECT_GT(all, centres);
  EXPECT_GT(centres, most);
  EXPECT_GT(most, 0);
}

TEST_F(AnnotatedData, BatchesAreTheSameForAnyThreadsAndAfterSeek) {
  const std::string random =
      "transform_param { mirror: true expand_param { prob: 1 max_expand_ratio: 2 } resize_param { height: 32 width: 32 "
      "} } "
      "annotated_data_param { batch_sampler { max_sample: 2 sampler { min_scale: 0.5 } } }";
  LayerRun one(layer(random), {}, {.backward = false});
  std::string threads = layer(random);
  threads.replace(threads.find("backend"), 0, "threads: 4 ");
  LayerRun four(threads, {}, {.backward = false});
  std::vector<Array> third;
  for (int batch = 0; batch < 3; ++batch) {
    one.forward();
    four.forward();
    for (size_t k = 0; k < 2; ++k) EXPECT_EQ(one.y()[k].values, four.y()[k].values) << batch;
    third = one.y();
  }
  LayerRun later(layer(random), {}, {.backward = false});
  dynamic_cast<DataCursor&>(later.layer()).seek(8);
  later.forward();
  for (size_t k = 0; k < 2; ++k) EXPECT_EQ(later.y()[k].values, third[k].values);
}

TEST_F(AnnotatedData, ReportsErrors) {
  const std::string sizes = "transform_param { resize_param { height: 8 width: 8 } } ";
  const auto wrong = [&](const std::string& more, const std::string& field, const std::string& words) {
    expect_field_error(layer(more), {}, field, words);
  };
  const std::string own = "annotated_data_param.";
  wrong("annotated_data_param { batch_sampler {} }", "transform_param.resize_param", "do not form a batch");
  wrong(sizes + "annotated_data_param { batch_sampler { sampler { min_scale: 0 } } }",
        own + "batch_sampler[0].sampler.min_scale", "it is 0");
  wrong(sizes + "annotated_data_param { batch_sampler { sampler { max_scale: 1.5 } } }",
        own + "batch_sampler[0].sampler.max_scale", "it is 1.5");
  wrong(sizes + "annotated_data_param { batch_sampler { use_original_image: false } }",
        own + "batch_sampler[0].use_original_image", "original image");
  wrong(sizes + "annotated_data_param { yolo_data_jitter: 2 }", own + "yolo_data_jitter", "it is 2");
  const std::string maps = sizes + "top: 'maps' ";
  wrong("annotated_data_param { seg_scales: 0 }", own + "seg_scales", "it is 0");
  wrong("annotated_data_param { seg_resize_width: 70000 }", own + "seg_resize_width", "it is 70000");
  wrong("annotated_data_param { seg_resize_width: 8 }", own + "seg_resize_width", "set both");
  wrong(maps + "annotated_data_param { seg_scales: 65 }", own + "seg_scales", "are empty");
  std::string cached = layer();
  cached.replace(cached.find("backend"), 0, "cache: true ");
  expect_field_error(cached, {}, "data_param.cache", "caching does not support");
}

/// Records with a label image: 7 where the picture is bright, else 26 (above the middle) or 200 (below).
class AnnotatedDataLabels : public AnnotatedData {
 protected:
  static constexpr size_t kPlaces = size_t(kSide) * kSide;

  AnnotatedDataLabels() {
    for (const bool encoded : {false, true}) {
      data::LmdbWriter writer(labelled(encoded));
      for (int i = 0; i < kRecords; ++i) {
        std::string datum = picture(i);
        append_labels(datum, encoded ? data::encode_png({1, kSide, kSide, labels(i)}) : text(labels(i)));
        writer.put("0" + std::to_string(i), data::make_annotated_datum(datum, {{1, 0, box(i), false}}));
      }
      writer.commit();
    }
    std::ofstream(map_file()) << "item { name: 'thing' label_id: 7 label: 2 } item { name: 'sky' label_id: 26 label: 0 "
                                 "} item { name: 'void' label_id: 200 label: 255 }";
  }

  std::string labelled(bool encoded) const { return source() + (encoded ? ".files" : ".bytes"); }
  std::string map_file() const { return source() + ".labels"; }
  std::string layer(bool encoded, const std::string& transform, const std::string& own) const {
    return "type: 'AnnotatedData' top: 'data' top: 'label' top: 'maps' data_param { source: '" + labelled(encoded) +
           "' batch_size: 4 backend: LMDB } transform_param { " + transform + " } annotated_data_param { " + own + " }";
  }
  std::string with_map() const { return "label_map_file: '" + map_file() + "' "; }

  /// Adds field 8 as bytes.
  static void append_labels(std::string& datum, const std::string& labels) {
    datum += '\x42';
    size_t size = labels.size();
    for (; size > 127; size >>= 7) datum += char((size & 127) | 128);
    datum += char(size);
    datum += labels;
  }

 private:
  static std::string text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
  static std::vector<uint8_t> labels(int i) {
    std::vector<uint8_t> made;
    caffe::Datum datum;
    datum.ParseFromString(picture(i));
    for (size_t k = 0; k < kPlaces; ++k) made.push_back(datum.data()[k] != 0 ? 7 : k < kPlaces / 2 ? 26 : 200);
    return made;
  }
};

TEST_F(AnnotatedDataLabels, AreMapsOfClasses) {
  for (const bool encoded : {false, true}) {
    LayerRun run(layer(encoded, "mirror: true", with_map()), {}, {.backward = false});
    EXPECT_EQ(run.made().shapes.y[2], (Shape{4, 3, kSide, kSide}));
    run.forward();
    const Array &image = run.y()[0], &maps = run.y()[2];
    for (size_t i = 0; i < 4 * kPlaces; ++i) {
      const size_t item = i / kPlaces, place = i % kPlaces, at = item * 3 * kPlaces + place;
      const bool bright = image[at] > 100;
      ASSERT_EQ(maps[at + 2 * kPlaces], bright ? 1 : 0) << item << " " << place;
      ASSERT_EQ(maps[at], !bright && place < kPlaces / 2 ? 1 : 0);
      ASSERT_EQ(maps[at + kPlaces], 0);
    }
  }
}

TEST_F(AnnotatedDataLabels, FollowTheImage) {
  const std::string random =
      "mirror: true expand_param { prob: 0.5 max_expand_ratio: 2 } resize_param { height: 96 width: 80 } distort_param "
      "{ "
      "brightness_prob: 1 brightness_delta: 10 }";
  const std::string parts = "batch_sampler { max_sample: 1 sampler { min_scale: 0.5 max_scale: 1 } } seg_scales: 2 ";
  LayerRun run(layer(true, random, parts + with_map()), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y[2], (Shape{4, 3, 48, 40}));
  int differ = 0, bright = 0;
  for (int batch = 0; batch < 10; ++batch) {
    run.forward();
    for (size_t item = 0; item < 4; ++item)
      for (size_t y = 0; y < 48; ++y)
        for (size_t x = 0; x < 40; ++x) {
          const bool is_bright = run.y()[0][(item * 3 * 96 + 2 * y) * 80 + 2 * x] > 100;
          const bool is_class = run.y()[2][((item * 3 + 2) * 48 + y) * 40 + x] == 1;
          bright += is_bright, differ += is_bright != is_class;
        }
  }
  EXPECT_GT(bright, 4000);
  EXPECT_LT(differ, bright / 10);  // at edges
}

TEST_F(AnnotatedDataLabels, AreOneMapWithoutClasses) {
  LayerRun run(layer(true, "resize_param { height: 32 width: 32 }", "seg_resize_height: 64 seg_resize_width: 32"), {},
               {.backward = false});
  EXPECT_EQ(run.made().shapes.y[2], (Shape{4, 1, 64, 32}));
  run.forward();
  const Array& maps = run.y()[2];
  EXPECT_FLOAT_EQ(float(maps[0]), 26 / 255.0f);
  EXPECT_FLOAT_EQ(float(maps[64 * 32 - 1]), 200 / 255.0f);
}

TEST_F(AnnotatedDataLabels, ReportsRecordsWithoutLabelsAndDamagedOnes) {
  const auto wrong = [&](const std::string& labels, const std::string& words) {
    const std::string broken = source() + ".broken" + std::to_string(labels.size());
    std::string datum = picture(0);
    if (!labels.empty()) append_labels(datum, labels);
    data::LmdbWriter writer(broken);
    writer.put("0", data::make_annotated_datum(datum, {{1, 0, box(0), false}}));
    writer.commit();
    std::string text = layer(false, "", with_map());
    text.replace(text.find(labelled(false)), labelled(false).size(), broken);
    LayerRun run(text, {}, {.backward = false});
    try {
      run.forward();
      FAIL() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  wrong("", "no label image");
  wrong("not an image", "its label image");
}

TEST_F(AnnotatedData, ReportsARecordOfAnotherKind) {
  const std::string other = source() + ".plain";
  data::LmdbWriter writer(other);
  writer.put("0", data::make_datum(1, 2, 3, "abcdef", 1));
  writer.commit();
  const std::string layer = "type: 'AnnotatedData' top: 'data' top: 'label' data_param { source: '" + other +
                            "' batch_size: 1 backend: LMDB }";
  try {
    LayerRun run(layer, {}, {.backward = false});
    FAIL() << "a Datum was taken for an AnnotatedDatum";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
  }
}

}  // namespace
}  // namespace cortado::harness
