// Converts the input into a dataset; the first byte selects its format.
#include "data/convert/convert.h"

#include <unistd.h>

#include <filesystem>

#include "core/files/file.h"
#include "tests/fuzz/fuzzed.h"

namespace {

using namespace cortado;

/// In memory; removed at the end.
struct Folder {
  std::string path = "/dev/shm/cortado_fuzz_" + std::to_string(::getpid());
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

template <typename Options>
Options options_for(const std::string& folder) {
  Options options;
  options.output = folder + "/database";
  options.force = true;
  options.skip_bad = true;
  return options;
}

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  static const Folder folder;
  if (input.empty()) return;
  const int kind = input[0] % 4;
  input.remove_prefix(1);
  const std::string path = folder.path + (kind == 2 ? "/table.csv" : "/input");
  const std::string_view second = kind == 0 ? input.substr(input.size() / 2) : "";
  write_file_atomically(path, input.substr(0, input.size() - second.size()));
  expect_answer([&] {
    if (kind == 0) {
      write_file_atomically(folder.path + "/labels", second);
      auto options = options_for<data::IdxOptions>(folder.path);
      options.images = path;
      options.labels = folder.path + "/labels";
      data::convert_idx(options);
    } else if (kind == 1) {
      auto options = options_for<data::CifarOptions>(folder.path);
      options.files = {path};
      data::convert_cifar(options);
    } else if (kind == 2) {
      auto options = options_for<data::CsvOptions>(folder.path);
      options.table = path;
      data::convert_csv(options);
    } else {
      auto options = options_for<data::TarOptions>(folder.path);
      options.shards = {path};
      data::convert_tar(options);
    }
  });
}
