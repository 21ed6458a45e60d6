#include "core/file.h"
#include "data/convert_images.h"
#include "data/image_list.h"

namespace cortado::data {

ConvertReport convert_imageset(const ImagesetOptions& options) {
  check_image_options(options);
  const std::string list = read_file_or_pipe(options.list, int64_t(1) << 32);
  std::vector<ImageEntry> entries;
  std::vector<Rejected> bad;
  for_each_line(list, [&](std::string_view line, int64_t number) {
    ListedImage listed;
    const std::string wrong = parse_image_line(line, listed);
    if (wrong.empty())
      entries.push_back({options.root + std::string(listed.name), std::string(listed.name), listed.label, number});
    else
      bad.push_back({options.list, number, wrong});
  });
  DatasetBuilder builder(options, int64_t(entries.size() + bad.size()));
  for (const Rejected& line : bad) builder.reject(line.file, line.line, line.reason);
  add_images(std::move(entries), options.list, options, builder);
  return builder.finish();
}

}  // namespace cortado::data
