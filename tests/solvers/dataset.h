#pragma once

#include "core/rng.h"
#include "data/lmdb/lmdb_writer.h"
#include "tests/solvers/training.h"

namespace cortado {

/// 23 random 8x8 images of two channels, labels 0 to 2.
inline std::string make_dataset(const Folder& folder) {
  const std::string path = folder / "images";
  data::LmdbWriter writer(path);
  RandomStream random(11);
  for (int i = 0; i < 23; ++i) {
    caffe::Datum datum;
    datum.set_channels(2);
    datum.set_height(8);
    datum.set_width(8);
    datum.set_label(i % 3);
    std::string pixels(128, '\0');
    for (char& pixel : pixels) pixel = char(random.below(256));
    datum.set_data(pixels);
    char key[16];
    std::snprintf(key, sizeof key, "%08d", i);
    writer.put(key, datum.SerializeAsString());
  }
  writer.commit();
  return path;
}

}  // namespace cortado
