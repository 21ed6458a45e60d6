// CIFAR's binary batches: records of one or two label bytes and 3 x 32 x 32 bytes, planar, in the order red, green,
// blue. The order is not changed, as in Caffe's tool, although images decoded from JPEG are blue, green, red.
#include "core/error.h"
#include "core/files/mapped_file.h"
#include "data/convert/convert.h"
#include "data/convert/dataset_builder.h"
#include "data/formats/datum.h"

namespace cortado::data {

ConvertReport convert_cifar(const CifarOptions& options) {
  constexpr int kSide = 32, kChannels = 3;
  constexpr size_t kPixels = size_t(kChannels) * kSide * kSide;
  const size_t label_bytes = size_t(options.label_bytes), record = label_bytes + kPixels;
  const Sample shape{kChannels, kSide, kSide, nullptr, nullptr, false};
  DatasetBuilder builder(options, -1);
  int64_t number = 0;
  for (const std::string& path : options.files) {
    const MappedFile file(path);
    const std::string_view content(reinterpret_cast<const char*>(file.data()), size_t(file.size()));
    if (content.empty() || content.size() % record != 0)
      throw file_error(
          ExitCode::kData, path,
          "its " + std::to_string(content.size()) + " bytes are not a number of records of " + std::to_string(record),
          "use the files of CIFAR's binary version: data_batch_1.bin, ..., test_batch.bin");
    for (size_t at = 0; at < content.size(); at += record, ++number) {
      const auto label = static_cast<uint8_t>(content[at + label_bytes - 1]);
      const std::string_view pixels = content.substr(at + label_bytes, kPixels);
      builder.add(number_key(number, 5), make_datum(kChannels, kSide, kSide, pixels, label), label, shape);
    }
    if (file.damaged()) throw file_error(ExitCode::kIo, path, "was truncated while it was read");
  }
  return builder.finish();
}

}  // namespace cortado::data
