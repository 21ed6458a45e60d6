#pragma once

// Temporary folders, datasets written by liblmdb (not by the code under test), and synthetic images.

#include <gtest/gtest.h>
#include <lmdb.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"
#include "data/image/image.h"
#include "tests/harness/errors.h"

namespace cortado::data::testing {

/// A temporary folder, removed at the end of the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cortado_data_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), std::streamsize(content.size()));
}

using Records = std::map<std::string, std::string>;

/// Runs `body(transaction, table)` in one transaction of liblmdb, on a database that is created if it does not exist.
inline void with_library(const std::string& path, const std::function<void(MDB_txn*, MDB_dbi)>& body) {
  std::filesystem::create_directories(path);
  const auto check = [](int status) {
    if (status != 0) throw std::runtime_error(::mdb_strerror(status));
  };
  MDB_env* env = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi table = 0;
  check(::mdb_env_create(&env));
  check(::mdb_env_set_mapsize(env, size_t(1) << 30));
  check(::mdb_env_open(env, path.c_str(), MDB_NOSYNC | MDB_NOLOCK, 0644));
  check(::mdb_txn_begin(env, nullptr, 0, &transaction));
  check(::mdb_dbi_open(transaction, nullptr, 0, &table));
  body(transaction, table);
  check(::mdb_txn_commit(transaction));
  ::mdb_env_close(env);
}

inline void put(MDB_txn* transaction, MDB_dbi table, const std::string& key, const std::string& value) {
  MDB_val k{key.size(), const_cast<char*>(key.data())}, v{value.size(), const_cast<char*>(value.data())};
  const int status = ::mdb_put(transaction, table, &k, &v, 0);
  if (status != 0) throw std::runtime_error(::mdb_strerror(status));
}

inline void write_with_library(const std::string& path, const Records& records) {
  with_library(path, [&](MDB_txn* transaction, MDB_dbi table) {
    for (const auto& [key, value] : records) put(transaction, table, key, value);
  });
}

inline Records read_with_library(const std::string& path) {
  Records records;
  with_library(path, [&](MDB_txn* transaction, MDB_dbi table) {
    MDB_cursor* cursor = nullptr;
    ::mdb_cursor_open(transaction, table, &cursor);
    MDB_val key, value;
    while (::mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
      records[std::string(static_cast<char*>(key.mv_data), key.mv_size)] =
          std::string(static_cast<char*>(value.mv_data), value.mv_size);
    ::mdb_cursor_close(cursor);
  });
  return records;
}

inline std::string random_bytes(RandomStream& random, size_t n) {
  std::string bytes(n, '\0');
  for (char& byte : bytes) byte = char(random.next_word());
  return bytes;
}

/// A smooth coloured image, which JPEG changes little.
inline Image picture(int channels, int height, int width, int variant = 0) {
  Image image;
  image.resize(channels, height, width);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        image.pixels[size_t((y * width + x) * channels + c)] =
            uint8_t((40 + 30 * c + 3 * y + 2 * x + 17 * variant) % 400 < 200 ? 60 + y + 20 * c : 160 + x / 2 - 10 * c);
  return image;
}

/// Runs `body`, which must throw a SampleError whose text contains `part`.
inline void expect_sample_error(const std::string& part, const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "no error; expected: " << part;
  } catch (const SampleError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace cortado::data::testing
