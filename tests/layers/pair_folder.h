#pragma once

// Small pictures with label pictures, in a temporary folder. Channel c of image i has i, h and w in each of its pixels;
// the label encodes the position, too.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "layers/registry.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {

/// One byte of picture i at (h, w).
inline int pixel_of(int i, int h, int w) { return 100 * i + 10 * h + w; }
inline int label_of(int i, int h, int w) { return pixel_of(i, h, w) + 3; }

class PairFolder {
 public:
  explicit PairFolder(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / ("cortado_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~PairFolder() { std::filesystem::remove_all(folder_); }
  PairFolder(const PairFolder&) = delete;

  /// "iI.pgm" and "lI.pgm".
  void add(int i, int height, int width) const {
    std::string image, labels;
    for (int h = 0; h < height; ++h)
      for (int w = 0; w < width; ++w) {
        image += char(pixel_of(i, h, w));
        labels += char(label_of(i, h, w));
      }
    const std::string head = "P5 " + std::to_string(width) + " " + std::to_string(height) + " 255\n";
    write("i" + std::to_string(i) + ".pgm", head + image);
    write("l" + std::to_string(i) + ".pgm", head + labels);
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  /// The fields that name the list and the folder.
  std::string source(const std::string& list = "list") const {
    return "source: '" + (folder_ / list).string() + "' root_folder: '" + folder_.string() + "/' ";
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

/// The shapes that are known without files. `options` ends with the tops.
inline std::vector<Shape> shapes_without_files(const std::string& type, const std::string& options, int tops) {
  const MadeLayer parsed("type: 'Silence' " + options, "", {});
  caffe::LayerParameter config = parsed.config;
  config.set_type(type);
  for (int i = 0; i < tops; ++i) config.add_top("y" + std::to_string(i));
  LayerOptions made{.config = config};
  made.open_data = false;
  return find_layer_type(type)->make(made)->infer({}).y;
}

}  // namespace cortado::harness
