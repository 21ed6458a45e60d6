// Images with objects: conversion of annotations in three formats to records of AnnotatedData.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/files/file.h"
#include "data/convert/convert.h"
#include "data/formats/annotations.h"
#include "data/formats/datum.h"
#include "data/lmdb/lmdb.h"
#include "data/sample.h"
#include "data/sources/lmdb_source.h"

namespace cortado::data {
namespace {

std::string voc(const std::string& objects, const std::string& size = "<width>40</width><height>20</height>") {
  return "<?xml version='1.0'?><annotation><filename>a.pgm</filename><size>" + size + "</size>" + objects +
         "</annotation>";
}

std::string object(const std::string& name, const std::string& box, const std::string& more = "") {
  return "<object><name>" + name + "</name>" + more + "<bndbox>" + box + "</bndbox></object>";
}

const std::string kBox = "<xmin>4</xmin><ymin>5</ymin><xmax>20</xmax><ymax>15</ymax>";

ImageExtent not_looked_at() {
  ADD_FAILURE() << "the annotation has the size";
  return {};
}

std::string reason_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const SampleError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Annotations, OfPascalVoc) {
  const Annotation read =
      parse_voc(voc(object("cat", kBox) + object("dog", kBox, "<difficult>1</difficult>")), not_looked_at);
  EXPECT_EQ(read.file, "a.pgm");
  ASSERT_EQ(read.objects.size(), 2u);
  EXPECT_EQ(read.objects[0].name, "cat");
  EXPECT_EQ(read.objects[0].box, (Box{0.1f, 0.25f, 0.5f, 0.75f}));
  EXPECT_FALSE(read.objects[0].difficult);
  EXPECT_TRUE(read.objects[1].difficult);
  EXPECT_TRUE(parse_voc(voc(""), not_looked_at).objects.empty());
}

TEST(Annotations, OfPascalVocReportErrors) {
  const auto wrong = [](const std::string& xml) { return reason_of([&] { parse_voc(xml, not_looked_at); }); };
  EXPECT_NE(wrong("not xml").find("not XML"), std::string::npos);
  EXPECT_NE(wrong("<a/>").find("<annotation> is missing"), std::string::npos);
  EXPECT_NE(wrong(voc("", "<width>40</width>")).find("no <height>"), std::string::npos);
  EXPECT_NE(wrong(voc("", "<width>0</width><height>2</height>")).find("not a valid size"), std::string::npos);
  EXPECT_NE(wrong(voc(object("", kBox))).find("no <name>"), std::string::npos);
  EXPECT_NE(wrong(voc(object("cat", "<xmin>4</xmin>"))).find("no <ymin>"), std::string::npos);
  EXPECT_NE(wrong(voc("<object><name>cat</name></object>")).find("<object> has no <bndbox>"), std::string::npos);
  EXPECT_NE(wrong(voc(object("cat", "<xmin>x</xmin>"))).find("'x', not a number"), std::string::npos);
  const std::string turned = "<xmin>9</xmin><ymin>5</ymin><xmax>4</xmax><ymax>15</ymax>";
  EXPECT_NE(wrong(voc(object("cat", turned))).find("ends before it begins"), std::string::npos);
}

TEST(Annotations, OfPascalVocWithoutASizeUseTheImages) {
  const std::string xml = "<annotation>" + object("cat", kBox) + "</annotation>";
  const Annotation read = parse_voc(xml, [] { return ImageExtent{20, 40}; });
  EXPECT_EQ(read.objects.at(0).box, (Box{0.1f, 0.25f, 0.5f, 0.75f}));
}

TEST(Annotations, InLines) {
  const Annotation read = parse_box_lines("cat 4 5 20 15\n\n3 0 0 40 20\r\n", {20, 40});
  ASSERT_EQ(read.objects.size(), 2u);
  EXPECT_EQ(read.objects[0].box, (Box{0.1f, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(read.objects[1].name, "3");
  EXPECT_NE(reason_of([] { parse_box_lines("cat 1 2 3\n", {20, 40}); }).find("is not LABEL"), std::string::npos);
}

TEST(Annotations, OfBoxesBeyondAllImagesNameTheLine) {
  const auto told = [](const std::string& reason, const std::string& place) {
    EXPECT_NE(reason.find(place), std::string::npos) << reason;
    EXPECT_NE(reason.find("beyond the maximum image size"), std::string::npos) << reason;
  };
  for (const std::string far : {"1e300", "-1e300", "4e9"}) {
    const bool low = far[0] == '-';
    const std::string first = low ? far : "4", last = low ? "20" : far;
    const std::string box = "<xmin>" + first + "</xmin><ymin>5</ymin><xmax>" + last + "</xmax>\n<ymax>15</ymax>";
    told(reason_of([&] { parse_voc(voc("\n" + object("dog", kBox) + "\n" + object("cat", box)), not_looked_at); }),
         "line 3: ");
    told(reason_of([&] {
           parse_box_lines("dog 1 2 3 4\n\ncat " + first + " 5 " + last + " 15\n", {20, 40});
         }),
         "line 3: ");
    told(reason_of([&] {
           parse_coco(R"({"categories": [{"id": 7, "name": "cat"}], "images": [{"id": 3, "file_name": "b.pgm",
               "height": 20, "width": 40}], "annotations": [{"id": 17, "image_id": 3, "category_id": 7, "bbox": [)" +
                      far + ", 5, 1, 10]}]}");
         }),
         "annotation 17: ");
  }
}

TEST(AnnotatedDatum, ABoxBeyondAllImagesIsRefused) {
  std::vector<Object> objects = {{.label = 1, .box = {0, 0, 3e38F, 1}}};
  const std::string record = make_annotated_datum("\x08\x01", objects);
  EXPECT_NE(reason_of([&] { parse_annotated_datum(record, objects); }).find("beyond the maximum image size"),
            std::string::npos);
}

TEST(Annotations, OfCoco) {
  const std::string categories = R"("categories": [{"id": 7, "name": "cat"}, {"id": 9, "name": "dog"}])";
  const std::string images = R"("images": [{"id": 3, "file_name": "b.pgm", "height": 20, "width": 40},
                                           {"id": 1, "file_name": "a.pgm", "height": 10, "width": 10}])";
  const CocoSet set = parse_coco("{" + categories + "," + images + R"(, "annotations": [
      {"id": 1, "image_id": 3, "category_id": 9, "bbox": [4, 5, 16, 10]},
      {"id": 2, "image_id": 3, "category_id": 7, "bbox": [0, 0, 40, 20], "iscrowd": 1}]})");
  ASSERT_EQ(set.images.size(), 2u);
  EXPECT_EQ(set.images[0].file, "b.pgm");
  EXPECT_EQ(set.images[0].objects[0].name, "dog");
  EXPECT_EQ(set.images[0].objects[0].box, (Box{0.1f, 0.25f, 0.5f, 0.75f}));
  EXPECT_TRUE(set.images[0].objects[1].difficult);
  EXPECT_TRUE(set.images[1].objects.empty());
  const auto wrong = [](const std::string& json) { return reason_of([&] { parse_coco(json); }); };
  EXPECT_NE(wrong("[1, 2").find("not JSON"), std::string::npos);
  EXPECT_NE(wrong("{}").find("not COCO's format"), std::string::npos);
  for (const char* id : {"2.5e28", "1.5", "-1e300"})
    EXPECT_NE(wrong("{\"categories\": [{\"id\": " + std::string(id) + ", \"name\": \"cat\"}]}").find("not an integer"),
              std::string::npos)
        << id;
  EXPECT_EQ(wrong(R"({"categories": [{"id": 7, "name": "cat"}, {"id": 7, "name": "dog"}]})"),
            "two categories have the id 7");
  EXPECT_NE(wrong("{" + categories + "," + images + R"(, "annotations": [{"id": 5, "image_id": 4, "category_id": 7,
      "bbox": [0, 0, 1, 1]}]})")
                .find("annotation 5 refers to an unknown image"),
            std::string::npos);
}

/// Images a.pgm and b.pgm, 40 x 20; the first with a cat and a dog, the second with a cat.
class ConvertAnnoset : public ::testing::Test {
 protected:
  ConvertAnnoset()
      : folder_(std::filesystem::temp_directory_path() / ("cortado_annoset_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    for (const char* name : {"a.pgm", "b.pgm"}) write(name, "P5 40 20 255\n" + std::string(800, 'x'));
    write("a.xml", voc(object("dog", kBox) + object("cat", kBox) + object("cat", kBox, "<difficult>1</difficult>")));
    write("b.txt", "cat 0 0 20 10\n");
    write("list", "a.pgm a.xml\nb.pgm b.txt\n");
    options_.root = folder_.string() + "/";
    options_.list = folder_ / "list";
    options_.output = folder_ / "db";
  }
  ~ConvertAnnoset() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& content) const { std::ofstream(folder_ / name) << content; }

  std::vector<std::vector<Object>> objects() const {
    const auto source = lmdb_source(Lmdb::open(options_.output), RecordKind::kAnnotated);
    const auto finder = source->finder(false);
    const auto reader = source->reader(ColorMode::kAsStored);
    std::vector<std::vector<Object>> all;
    for (int64_t i = 0; i < source->records(); ++i) {
      Label label;
      EXPECT_EQ(reader->open(finder->find(uint64_t(i)), label).shape_str(), "3x20x40");
      all.push_back(reader->objects());
    }
    return all;
  }

  std::filesystem::path folder_;
  AnnosetOptions options_;
};

TEST_F(ConvertAnnoset, NumbersNamesAndWritesTheirMap) {
  const ConvertReport report = convert_annoset(options_);
  EXPECT_TRUE(report.kept);
  EXPECT_EQ(report.written, 2);
  const Box box{0.1f, 0.25f, 0.5f, 0.75f};
  const std::vector<std::vector<Object>> read = objects();
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0], (std::vector<Object>{{2, 0, box, false}, {1, 0, box, false}, {1, 1, box, true}}));
  EXPECT_EQ(read[1], (std::vector<Object>{{1, 0, {0, 0, 0.5, 0.5}, false}}));
  EXPECT_EQ(most_objects(Lmdb::open(options_.output)), 3);
  const std::string map = read_file(report.label_map);
  EXPECT_LT(map.find("background"), map.find("cat"));
  EXPECT_LT(map.find("cat"), map.find("dog"));
}

TEST_F(ConvertAnnoset, TakesNumbersFromAMap) {
  write("map", "item { name: 'dog' label: 5 } item { name: 'cat' label: 6 }");
  options_.label_map = folder_ / "map";
  EXPECT_TRUE(convert_annoset(options_).label_map.empty());
  EXPECT_EQ(objects()[0][0].label, 5);
  write("map", "item { name: 'dog' label: 5 }");
  options_.force = true;
  const ConvertReport report = convert_annoset(options_);
  EXPECT_FALSE(report.kept);
  ASSERT_EQ(report.rejects.size(), 2u);
  EXPECT_NE(report.rejects[0].reason.find("'cat' is not in the label map"), std::string::npos)
      << report.rejects[0].reason;
}

TEST_F(ConvertAnnoset, NamesLinesThatAreBad) {
  write("bad.xml", "<annotation>");
  write("list", "a.pgm a.xml\nb.pgm\nb.pgm bad.xml\nb.pgm missing.xml\n");
  const ConvertReport report = convert_annoset(options_);
  EXPECT_FALSE(report.kept);
  ASSERT_EQ(report.rejects.size(), 3u);
  EXPECT_EQ(report.rejects[0].line, 2);
  EXPECT_NE(report.rejects[1].reason.find("bad.xml: not XML"), std::string::npos) << report.rejects[1].reason;
  EXPECT_EQ(report.rejects[2].line, 4);
  EXPECT_FALSE(file_exists(options_.output));
}

TEST_F(ConvertAnnoset, RefusesAnnotationsOfAnotherSize) {
  write("turned.xml", voc(object("cat", kBox), "<width>20</width><height>40</height>"));
  write("list", "a.pgm a.xml\nb.pgm turned.xml\n");
  const auto reason = [&] {
    const ConvertReport report = convert_annoset(options_);
    EXPECT_FALSE(report.kept);
    return report.rejects.size() == 1 ? report.rejects[0].reason : "";
  };
  EXPECT_NE(reason().find("of an image of 20x40 pixels (width x height), and it has 40x20"), std::string::npos);
  write("instances.json", R"({"categories": [], "annotations": [],
    "images": [{"id": 1, "file_name": "b.pgm", "height": 40, "width": 20}]})");
  options_.list = folder_ / "instances.json";
  for (const bool encoded : {false, true}) {
    options_.encoded = encoded;
    EXPECT_NE(reason().find("20x40"), std::string::npos);
  }
}

TEST_F(ConvertAnnoset, ReadsCocosInstances) {
  write("instances.json", R"({"categories": [{"id": 7, "name": "cat"}],
    "images": [{"id": 1, "file_name": "b.pgm", "height": 20, "width": 40}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 7, "bbox": [4, 5, 16, 10]}]})");
  options_.list = folder_ / "instances.json";
  EXPECT_EQ(convert_annoset(options_).written, 1);
  EXPECT_EQ(objects(), (std::vector<std::vector<Object>>{{{1, 0, {0.1f, 0.25f, 0.5f, 0.75f}, false}}}));
}

TEST(AnnotatedDatum, DamagedRecordsAreHarmless) {
  const std::string good = make_annotated_datum("\x08\x01", {{1, 2, {0, 0, 1, 1}, true}});
  std::vector<Object> objects;
  EXPECT_EQ(parse_annotated_datum(good, objects), "\x08\x01");
  EXPECT_EQ(objects, (std::vector<Object>{{1, 2, {0, 0, 1, 1}, true}}));
  for (size_t cut = 0; cut < good.size(); ++cut) {
    try {
      parse_annotated_datum(std::string_view(good).substr(0, cut), objects);
    } catch (const SampleError&) {
    }
    for (const char change : {'\x00', '\x7f', '\xff'}) {
      std::string changed = good;
      changed[cut] = change;
      try {
        parse_annotated_datum(changed, objects);
      } catch (const SampleError&) {
      }
    }
  }
}

}  // namespace
}  // namespace cortado::data
