#include "data/convert/convert.h"

#include <zlib.h>

#include <set>

#include "data/convert/compute_mean.h"
#include "data/formats/datum.h"
#include "data/formats/mean_file.h"
#include "data/lmdb/dataset_names.h"
#include "proto/cortado.pb.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

caffe::Datum parsed(const std::string& value) {
  caffe::Datum datum;
  EXPECT_TRUE(datum.ParseFromString(value));
  return datum;
}

std::string idx(const std::vector<uint32_t>& dims, const std::string& bytes) {
  std::string file{'\0', '\0', '\x08', char(dims.size())};
  for (const uint32_t dim : dims)
    for (const int shift : {24, 16, 8, 0}) file += char(dim >> shift);
  return file + bytes;
}

std::string gzipped(const std::string& path, const std::string& content) {
  const gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, content.data(), unsigned(content.size()));
  ::gzclose(file);
  return path;
}

TEST(ConvertIdx, WritesWhatCaffeWrites) {
  const Folder folder;
  const std::string images = idx({3, 2, 2}, "aaaabbbbcccc"), labels = idx({3}, {'\5', '\0', '\5'});
  write_file(folder / "images", images);
  write_file(folder / "labels", labels);
  gzipped(folder / "images.gz", images);
  gzipped(folder / "labels.gz", labels);
  const ConvertReport report = convert_idx({{folder / "db"}, folder / "images", folder / "labels"});
  EXPECT_TRUE(report.kept);
  EXPECT_EQ(report.written, 3);
  EXPECT_EQ(report.per_label, (std::vector<int64_t>{1, 0, 0, 0, 0, 2}));
  const Records records = read_with_library(folder / "db");
  EXPECT_EQ(records.begin()->first, "00000000");
  EXPECT_EQ(records.rbegin()->first, "00000002");
  const caffe::Datum datum = parsed(records.at("00000001"));
  EXPECT_EQ(datum.data(), "bbbb");
  EXPECT_EQ(datum.label(), 0);
  EXPECT_EQ(datum.channels() * 100 + datum.height() * 10 + datum.width(), 122);
  convert_idx({{folder / "packed"}, folder / "images.gz", folder / "labels.gz"});
  EXPECT_EQ(read_with_library(folder / "packed"), records);
}

TEST(ConvertIdx, RefusesWhatDoesNotFit) {
  const Folder folder;
  const std::string good_images = idx({3, 2, 2}, "aaaabbbbcccc"), good_labels = idx({3}, "xyz");
  const auto expect_refusal = [&](const std::string& images, const std::string& labels, const std::string& part) {
    write_file(folder / "images", images);
    write_file(folder / "labels", labels);
    expect_error([&] { convert_idx({{folder / "db"}, folder / "images", folder / "labels"}); }, ExitCode::kData, part);
    EXPECT_FALSE(file_exists(folder / "db"));
  };
  expect_refusal(good_images, idx({2}, "xy"), "2 labels for 3 images");
  expect_refusal(good_labels, good_images, "images have 3");
  expect_refusal(good_images, good_images, "labels have 1");
  expect_refusal(good_images.substr(0, 20), good_labels, "truncated");
  expect_refusal(good_images + "x", good_labels, "more data than its header states");
  expect_refusal("", good_labels, "truncated");
  expect_refusal("JFIF....", good_labels, "not an IDX file");
  expect_refusal(idx({0, 2, 2}, ""), idx({0}, ""), "no samples");
  expect_refusal(idx({1, 0xFFFFFFFF, 0xFFFFFFFF}, ""), idx({1}, "x"), "its images are");
  const std::string packed = read_file(gzipped(folder / "gz", good_images));
  expect_refusal(packed.substr(0, packed.size() - 12), good_labels, "cannot be decompressed");
  expect_refusal(packed.substr(0, packed.size() - 4), good_labels, "cannot be decompressed");
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 6] ^= 1;
  expect_refusal(wrong_sum, good_labels, "cannot be decompressed");
  expect_error(
      [&] {
        convert_idx({{folder / "db"}, folder / "absent", folder / "labels"});
      },
      ExitCode::kIo, "No such file");
}

TEST(ConvertCifar, KeepsPlanesAndLabels) {
  const Folder folder;
  std::string records;
  for (int i = 0; i < 3; ++i) records += char(i) + std::string(3072, char('a' + i));
  write_file(folder / "data_batch_1.bin", records);
  write_file(folder / "data_batch_2.bin", records);
  const ConvertReport report =
      convert_cifar({{folder / "db"}, {folder / "data_batch_1.bin", folder / "data_batch_2.bin"}});
  EXPECT_EQ(report.written, 6);
  const Records written = read_with_library(folder / "db");
  EXPECT_EQ(written.rbegin()->first, "00005");
  EXPECT_EQ(parsed(written.at("00004")).label(), 1);
  EXPECT_EQ(parsed(written.at("00004")).data(), std::string(3072, 'b'));
  write_file(folder / "bad.bin", records + "x");
  expect_error([&] { convert_cifar({{folder / "bad_db"}, {folder / "bad.bin"}}); }, ExitCode::kData, "3073");
  EXPECT_FALSE(file_exists(folder / "bad_db"));
}

/// root/a.jpg (colour), root/sub dir/b.jpg (grey), root/broken.jpg
struct ImageFolder : Folder {
  ImageFolder() {
    std::filesystem::create_directories(*this / "root/sub dir");
    write_file(*this / "root/a.jpg", a = encode_image(picture(3, 10, 12), "jpg"));
    write_file(*this / "root/sub dir/b.jpg", encode_image(picture(1, 10, 12), "jpg"));
    write_file(*this / "root/broken.jpg", a.substr(0, a.size() / 2));
  }
  ImagesetOptions options(const std::string& list) const {
    write_file(*this / "list.txt", list);
    ImagesetOptions options;
    options.output = *this / "db";
    options.root = *this / "root/";
    options.list = *this / "list.txt";
    return options;
  }
  std::string a;
};

TEST(ConvertImageset, WritesPlanarBlueGreenRed) {
  const ImageFolder folder;
  const ConvertReport report = convert_imageset(folder.options("a.jpg 7\r\nsub dir/b.jpg -3\n\n"));
  EXPECT_TRUE(report.kept);
  EXPECT_TRUE(report.per_label.empty());  // a negative label
  const Records records = read_with_library(folder / "db");
  ASSERT_EQ(records.size(), 2u);
  const caffe::Datum datum = parsed(records.at("00000000_a.jpg"));
  Image image;
  ImageDecoder().decode(folder.a, ColorMode::kColor, image);
  for (size_t i = 0; i < 120; ++i)
    for (size_t c = 0; c < 3; ++c) ASSERT_EQ(uint8_t(datum.data()[c * 120 + i]), image.pixels[3 * i + c]);
  EXPECT_EQ(datum.label(), 7);
  EXPECT_EQ(parsed(records.at("00000001_sub dir/b.jpg")).label(), -3);
  EXPECT_EQ(parsed(records.at("00000001_sub dir/b.jpg")).channels(), 3);  // colour is forced, as Caffe does
}

TEST(ConvertImageset, ResizesAndConvertsToGray) {
  const ImageFolder folder;
  ImagesetOptions options = folder.options("a.jpg 0\n");
  options.gray = true;
  options.resize_height = 5;
  options.resize_width = 6;
  convert_imageset(options);
  const caffe::Datum datum = parsed(read_with_library(folder / "db").begin()->second);
  EXPECT_EQ(datum.channels() * 100 + datum.height() * 10 + datum.width(), 156);
  options.resize_width = 0;
  options.force = true;
  expect_error([&] { convert_imageset(options); }, ExitCode::kUsage, "must both be set");
}

TEST(ConvertImageset, KeepsEncodedFilesUnchanged) {
  const ImageFolder folder;
  ImagesetOptions options = folder.options("a.jpg 4\n");
  options.encoded = true;
  convert_imageset(options);
  caffe::Datum datum = parsed(read_with_library(folder / "db").begin()->second);
  EXPECT_TRUE(datum.encoded());
  EXPECT_EQ(datum.data(), folder.a);
  options.resize_height = options.resize_width = 8;
  options.force = true;
  convert_imageset(options);
  datum = parsed(read_with_library(folder / "db").begin()->second);
  Image image;
  ImageDecoder().decode(datum.data(), ColorMode::kAsStored, image);
  EXPECT_EQ(image.sample().shape_str(), "3x8x8");
}

/// A PNG of 12x10 pixels with alpha, of which zlib stores the bytes.
std::string png_with_alpha(int channels) {
  const auto number = [](uint32_t v) { return std::string{char(v >> 24), char(v >> 16), char(v >> 8), char(v)}; };
  const auto chunk = [&](const std::string& type, const std::string& content) {
    const std::string body = type + content;
    return number(uint32_t(content.size())) + body +
           number(uint32_t(::crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size()))));
  };
  std::string rows;
  for (int y = 0; y < 10; ++y) {
    rows += '\0';
    for (int i = 0; i < 12 * channels; ++i) rows += char(i % channels == channels - 1 ? 200 : 20 * y + i);
  }
  std::string packed(::compressBound(uLong(rows.size())), '\0');
  uLongf size = uLongf(packed.size());
  ::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
             uLong(rows.size()));
  packed.resize(size);
  return "\x89PNG\r\n\x1A\n" +
         chunk("IHDR", number(12) + number(10) + std::string{8, char(channels == 4 ? 6 : 4), 0, 0, 0}) +
         chunk("IDAT", packed) + chunk("IEND", "");
}

/// Every kind of file, as records of pixels and of files, kept or encoded again, with gray on and off.
TEST(ConvertImageset, HasTheChannelsThatWereRequested) {
  const ImageFolder folder;
  struct Kind {
    std::string name, content;
    int stored;  ///< channels as the decoder returns them, with alpha always four
  };
  std::vector<Kind> kinds;
  for (const char* type : {"jpg", "png"})
    for (const int channels : {1, 3})
      kinds.push_back(
          {"file" + std::to_string(channels) + "." + type, encode_image(picture(channels, 10, 12), type), channels});
  kinds.push_back({"file.jpeg", kinds[1].content, 3});
  kinds.push_back({"alpha.png", png_with_alpha(4), 4});
  kinds.push_back({"gray_alpha.png", png_with_alpha(2), 4});
  for (const Kind& kind : kinds) {
    write_file(folder / ("root/" + kind.name), kind.content);
    ImagesetOptions options = folder.options(kind.name + " 4\n");
    options.force = true;
    for (const bool gray : {false, true})
      for (const int side : {0, 8})
        for (const std::string encode : side ? std::vector{"no", ""} : std::vector{"no", "", "jpg", "png"}) {
          SCOPED_TRACE(kind.name + (gray ? ", gray" : "") + (side ? ", resized" : "") + ", encoded: " + encode);
          options.gray = gray;
          options.resize_height = options.resize_width = side;
          options.encoded = encode != "no";
          options.encode_type = options.encoded ? encode : "";
          ASSERT_TRUE(convert_imageset(options).kept);
          const caffe::Datum datum = parsed(read_with_library(folder / "db").begin()->second);
          EXPECT_EQ(datum.encoded(), options.encoded);
          Image image;
          if (datum.encoded())
            ImageDecoder().decode(datum.data(), ColorMode::kAsStored, image);
          else
            image.resize(datum.channels(), datum.height(), datum.width());
          // A file is kept if nothing else was requested; all others are colour unless they must be gray.
          const bool jpg = kind.name.find(".jp") != std::string::npos;
          const bool same = encode.empty() || (encode == "jpg") == jpg;
          const bool kept = options.encoded && !gray && side == 0 && same;
          EXPECT_EQ(image.channels, gray ? 1 : kept ? kind.stored : 3);
          EXPECT_EQ(image.height * 100 + image.width, side ? 808 : 1012);
          if (kept) {
            EXPECT_EQ(datum.data(), kind.content);
          }
          Image wanted;
          ImageDecoder().decode(kind.content, gray ? ColorMode::kGray : ColorMode::kColor, wanted);
          for (size_t i = 0; side == 0 && !kept && datum.encoded() && encode == "png" && i < wanted.pixels.size(); ++i)
            ASSERT_EQ(image.pixels[i], wanted.pixels[i]) << i;
        }
  }
}

TEST(ConvertImageset, ResizesTheShorterSide) {
  const ImageFolder folder;
  write_file(folder / "root/high.jpg", encode_image(picture(3, 21, 14), "jpg"));
  ImagesetOptions options = folder.options("a.jpg 0\nhigh.jpg 1\n");  // 10x12 and 21x14
  options.short_side = 7;
  convert_imageset(options);
  const auto shapes = [&] {
    std::vector<std::string> list;
    for (const auto& [key, value] : read_with_library(folder / "db")) {
      const caffe::Datum datum = parsed(value);
      Image image;
      if (datum.encoded())
        ImageDecoder().decode(datum.data(), ColorMode::kAsStored, image);
      else
        image.resize(datum.channels(), datum.height(), datum.width());
      list.push_back(image.sample().shape_str());
    }
    return list;
  };
  const std::vector<std::string> expected = {"3x7x8", "3x11x7"};  // 12 * 7 / 10 = 8.4, 21 * 7 / 14 = 10.5
  EXPECT_EQ(shapes(), expected);
  options.encoded = options.force = true;
  convert_imageset(options);
  EXPECT_EQ(shapes(), expected);
  options.short_side = 10;  // which a.jpg has
  convert_imageset(options);
  EXPECT_EQ(parsed(read_with_library(folder / "db").begin()->second).data(), folder.a);
  options.resize_height = options.resize_width = 8;
  expect_error([&] { convert_imageset(options); }, ExitCode::kUsage, "without resize_height");
}

TEST(ConvertImageset, BadLinesAndImagesAreReported) {
  const ImageFolder folder;
  const std::string list =
      "a.jpg 1\na.jpg\na.jpg x1\na.jpg 99999999999\nbroken.jpg 2\nabsent.jpg 3\na.jpg 1.5\na.jpg 2\n";
  ImagesetOptions options = folder.options(list);
  ConvertReport report = convert_imageset(options);
  EXPECT_FALSE(report.kept);
  EXPECT_FALSE(file_exists(folder / "db"));
  EXPECT_EQ(report.rejected, 6);
  const auto reported = [&](int64_t line, const std::string& part) {
    for (const Rejected& rejected : report.rejects)
      if (rejected.line == line && rejected.reason.find(part) != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(reported(2, "no label"));
  EXPECT_TRUE(reported(3, "'x1'"));
  EXPECT_TRUE(reported(4, "'99999999999'"));
  EXPECT_TRUE(reported(5, "broken.jpg: the JPEG cannot be decoded"));
  EXPECT_TRUE(reported(6, "absent.jpg: cannot read"));
  EXPECT_TRUE(reported(7, "'1.5'"));
  options.skip_bad = true;
  report = convert_imageset(options);
  EXPECT_TRUE(report.kept);
  EXPECT_EQ(read_with_library(folder / "db").size(), 2u);
}

TEST(ConvertImageset, ShufflesBySeed) {
  const ImageFolder folder;
  std::string list;
  for (int i = 0; i < 40; ++i) list += "a.jpg " + std::to_string(i) + "\n";
  const auto labels = [&](bool shuffle, uint64_t seed) {
    ImagesetOptions options = folder.options(list);
    options.shuffle = shuffle;
    options.seed = seed;
    options.force = true;
    convert_imageset(options);
    std::vector<int> found;
    for (const auto& [key, value] : read_with_library(folder / "db")) found.push_back(parsed(value).label());
    return found;
  };
  const std::vector<int> one = labels(true, 1);
  EXPECT_TRUE(std::is_permutation(one.begin(), one.end(), labels(false, 1).begin()));
  EXPECT_FALSE(std::is_sorted(one.begin(), one.end()));
  EXPECT_EQ(labels(true, 1), one);
  EXPECT_NE(labels(true, 2), one);
}

TEST(ConvertImageset, ChecksSizesOnRequest) {
  const ImageFolder folder;
  write_file(folder / "root/c.jpg", encode_image(picture(3, 5, 5), "jpg"));
  ImagesetOptions options = folder.options("a.jpg 1\nc.jpg 2\n");
  EXPECT_TRUE(convert_imageset(options).mixed_sizes);
  options.check_size = options.force = true;
  const ConvertReport report = convert_imageset(options);
  ASSERT_EQ(report.rejected, 1);
  EXPECT_NE(report.rejects[0].reason.find("3x5x5"), std::string::npos);
}

TEST(ConvertFolder, MakesEachFolderAClass) {
  const Folder folder;
  for (const char* name : {"zebra", "ant", ".hidden"}) {
    std::filesystem::create_directories(folder / (std::string("root/") + name));
    for (int i = 0; i < 5; ++i)
      write_file(folder / (std::string("root/") + name + "/" + std::to_string(i) + ".jpg"),
                 encode_image(picture(3, 6, 6, i), "jpg"));
  }
  FolderOptions options;
  options.output = folder / "db";
  options.folder = folder / "root";
  const ConvertReport report = convert_folder(options);
  EXPECT_EQ(report.classes, (std::vector<std::string>{"ant", "zebra"}));
  EXPECT_EQ(report.per_label, (std::vector<int64_t>{5, 5}));
  EXPECT_EQ(read_file(names_beside(options.output, kLabelsPart)), "ant\nzebra\n");
  int changes = 0, last = 0;
  for (const auto& [key, value] : read_with_library(folder / "db")) {
    const int label = parsed(value).label();
    EXPECT_NE(key.find(label == 0 ? "_ant/" : "_zebra/"), std::string::npos);
    changes += label != last;
    last = label;
  }
  EXPECT_GT(changes, 1) << "a net cannot be trained on records sorted by class";
  options.folder = folder / "root/ant";
  options.force = true;
  expect_error([&] { convert_folder(options); }, ExitCode::kData, "no folders");
}

/// Writes folders of images below root/, with the given numbers of images.
void make_classes(const Folder& folder, const std::map<std::string, int>& sizes) {
  for (const auto& [name, n] : sizes) {
    std::filesystem::create_directories(folder / ("root/" + name));
    for (int i = 0; i < n; ++i)
      write_file(folder / ("root/" + name + "/" + std::to_string(i) + ".jpg"),
                 encode_image(picture(3, 6, 6, i), "jpg"));
  }
}

/// The file names in one of the two datasets, by label, as liblmdb reads them.
std::map<int, std::set<std::string>> names_in(const std::string& database) {
  std::map<int, std::set<std::string>> names;
  for (const auto& [key, value] : read_with_library(database)) names[parsed(value).label()].insert(key.substr(9));
  return names;
}

TEST(ConvertInTwo, SplitsEachClass) {
  const Folder folder;
  const std::map<std::string, int> sizes = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 10}, {"e", 25}};
  make_classes(folder, sizes);
  FolderOptions options;
  options.output = folder / "sets";
  options.folder = folder / "root";
  const std::map<double, std::vector<size_t>> wanted = {
      {0.01, {0, 1, 1, 1, 1}}, {0.2, {0, 1, 1, 2, 5}}, {0.5, {0, 1, 2, 5, 13}}, {0.99, {0, 1, 2, 9, 24}}};
  for (const auto& [share, counts] : wanted) {
    options.test_share = share;
    const ConvertReport report = convert_folder(options);
    options.force = true;
    ASSERT_TRUE(report.kept);
    auto train = names_in(folder / "sets/train_lmdb"), tests = names_in(folder / "sets/test_lmdb");
    int label = 0;
    for (const auto& [name, n] : sizes) {
      EXPECT_EQ(tests[label].size(), counts[size_t(label)]) << name << " " << share;
      EXPECT_EQ(train[label].size() + tests[label].size(), size_t(n)) << name << " " << share;
      train[label].insert(tests[label].begin(), tests[label].end());
      EXPECT_EQ(train[label].size(), size_t(n)) << "an image is in both datasets";
      ++label;
    }
    EXPECT_EQ(report.written + report.test.written, 41);
    EXPECT_EQ(read_file(folder / "sets/labels.txt"), "a\nb\nc\nd\ne\n");
    EXPECT_FALSE(file_exists(names_beside(options.output, kLabelsPart)));
  }
}

TEST(ConvertInTwo, DependsOnlyOnTheSeed) {
  const Folder folder;
  make_classes(folder, {{"a", 30}, {"b", 30}});
  const auto tests_with = [&](const std::string& output, uint64_t seed, bool keep_order) {
    FolderOptions options;
    options.output = folder / output;
    options.folder = folder / "root";
    options.test_share = 0.3;
    options.seed = seed;
    options.keep_order = keep_order;
    convert_folder(options);
    return names_in(folder / (output + "/test_lmdb"));
  };
  const auto first = tests_with("first", 1, false);
  EXPECT_EQ(tests_with("second", 1, false), first);
  EXPECT_EQ(tests_with("third", 1, true), first) << "the choice does not depend on the order of records";
  EXPECT_NE(tests_with("fourth", 2, false), first);
  EXPECT_EQ(read_with_library(folder / "first/train_lmdb"), read_with_library(folder / "second/train_lmdb"));
}

TEST(ConvertInTwo, IsAllOrNothing) {
  const Folder folder;
  make_classes(folder, {{"a", 4}, {"b", 4}});
  FolderOptions options;
  options.output = folder / "sets";
  options.folder = folder / "root";
  options.test_share = 0.5;
  convert_folder(options);
  const Records before = read_with_library(folder / "sets/test_lmdb");
  options.force = true;
  options.seed = 2;
  for (const char* part : {"a", "b"}) {
    for (int i = 0; i < 4; ++i)
      write_file(folder / (std::string("root/") + part + "/" + std::to_string(i) + ".jpg"), "x");
    EXPECT_FALSE(convert_folder(options).kept);
    EXPECT_EQ(read_with_library(folder / "sets/test_lmdb"), before);
  }
  options.output = folder / "fresh";
  EXPECT_FALSE(convert_folder(options).kept);
  options.skip_bad = true;
  expect_error([&] { convert_folder(options); }, ExitCode::kData,
               "there are not two images, one for training and one for testing; 8 of 8 cannot be used");
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / ".")) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name == "root" || name == "sets") << name;
    ++entries;
  }
  EXPECT_EQ(entries, 2);
}

TEST(ConvertImageset, LogsErrorsOfOneKindTwentyTimes) {
  const ImageFolder folder;
  std::string list;
  for (int i = 0; i < 300; ++i) list += "gone" + std::to_string(i) + ".jpg 1\n";
  list += "a.jpg cat\na.jpg dog\nbroken.jpg 1\n";
  const ConvertReport report = convert_imageset(folder.options(list));
  EXPECT_EQ(report.rejected, 303);
  EXPECT_EQ(report.rejects.size(), 20u + 2u + 1u);
  ASSERT_EQ(report.untold.size(), 1u);
  EXPECT_EQ(report.untold.begin()->second, 280);
}

TEST(ConvertFolder, SkipsOtherFiles) {
  const Folder folder;
  make_classes(folder, {{"a", 2}, {"b", 2}, {".trash", 2}, {"__MACOSX", 1}});
  for (const char* name : {".DS_Store", "a/Thumbs.db", "a/thumbs.db", "b/Desktop.ini", "b/._0.jpg"})
    write_file(folder / (std::string("root/") + name), "x");
  FolderOptions options;
  options.output = folder / "db";
  options.folder = folder / "root";
  const ConvertReport report = convert_folder(options);
  EXPECT_TRUE(report.kept);
  EXPECT_EQ(report.classes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(report.written, 4);
  EXPECT_EQ(report.skipped, 7);
}

TEST(Mean, IsTheMeanOfEveryElement) {
  const Folder folder;
  Records records;
  std::vector<double> sums(2 * 3 * 4);
  RandomStream random(1);
  for (int i = 0; i < 25; ++i) {
    const std::string bytes = random_bytes(random, 24);
    for (size_t k = 0; k < 24; ++k) sums[k] += uint8_t(bytes[k]);
    records[std::to_string(100 + i)] = make_datum(2, 3, 4, bytes, 0);
  }
  write_with_library(folder / "db", records);
  int64_t told = 0;
  const caffe::BlobProto blob = compute_mean(folder / "db", [&](int64_t done, int64_t) { told = done; });
  EXPECT_EQ(told, 25);
  write_file(folder / "mean.binaryproto", blob.SerializeAsString());
  const auto mean = read_mean_file(folder / "mean.binaryproto");
  EXPECT_EQ(mean->channels * 100 + mean->height * 10 + mean->width, 234);
  for (size_t k = 0; k < 24; ++k) EXPECT_FLOAT_EQ(mean->values[k], float(sums[k] / 25));
  records["999"] = make_datum(2, 4, 3, std::string(24, 'x'), 0);
  write_with_library(folder / "mixed", records);
  expect_error([&] { compute_mean(folder / "mixed"); }, ExitCode::kData, "record '999'");
}

TEST(Mean, WrongFilesAreRefused) {
  const Folder folder;
  const auto expect_refusal = [&](const std::string& content, const std::string& part) {
    write_file(folder / "mean", content);
    expect_error([&] { read_mean_file(folder / "mean"); }, ExitCode::kData, part);
  };
  expect_refusal("", "not a mean file");
  expect_refusal("text, not a message", "not a mean file");
  caffe::BlobProto blob;
  for (const int64_t dim : {3, 5, 7}) blob.mutable_shape()->add_dim(dim);
  blob.add_data(1);
  expect_refusal(blob.SerializeAsString(), "has 1 elements");
  blob.mutable_shape()->set_dim(0, int64_t(1) << 62);
  expect_refusal(blob.SerializeAsString(), "has 1 elements");
  expect_error([&] { read_mean_file(folder / "absent"); }, ExitCode::kIo, "No such file");
}

}  // namespace

}  // namespace cortado::data::testing
