#include "tools/runs/content_digest.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/mapped_file.h"

namespace cortado::runs {

namespace {

constexpr int64_t kBlock = 4096, kBlocks = 16384;

std::string digest_of_file(const MappedFile& file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), size_t(file.size()));
  if (file.size() <= kBlock * kBlocks) return digest_of(bytes);
  Digest digest;
  const int64_t last = file.size() - kBlock;
  for (int64_t i = 0; i < kBlocks; ++i) {
    const int64_t at = last / (kBlocks - 1) * i + last % (kBlocks - 1) * i / (kBlocks - 1);
    digest.add(bytes.substr(size_t(at), size_t(kBlock)));
  }
  return digest.str();
}

}  // namespace

InputFile describe_input(const std::string& kind, const std::string& path) {
  InputFile input{path, kind, 0, {}};
  const std::string database = join_path(path, "data.mdb");
  try {
    const MappedFile file(file_exists(database) ? database : path);
    input.bytes = file.size();
    input.digest = digest_of_file(file);
  } catch (const Error&) {
  }
  return input;
}

}  // namespace cortado::runs
