// `cortado data cat`: prints one record of a dataset, or writes its image.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/json.h"
#include "data/curate/curate.h"
#include "data/curate/records.h"
#include "data/formats/datum.h"
#include "data/formats/text.h"
#include "data/sources/datum_reader.h"
#include "tools/data/data_command.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

/// The record with this key, else the first whose key has `name` after its number.
data::Record find_record(const data::Records& records, const std::string& name) {
  size_t named = records.size();
  for (size_t i = 0; i < records.size(); ++i) {
    const data::Record record = records[i];
    if (record.key == name) return record;
    if (named == records.size() && data::name_in_key(record.key) == name) named = i;
  }
  if (named < records.size()) return records[named];
  throw file_error(ExitCode::kData, records.database().path(), "no record has the key '" + name + "'",
                   "the keys go from '" + data::printable(records[0].key) + "' to '" +
                       data::printable(records[records.size() - 1].key) + "'");
}

}  // namespace

int run_data_cat(const Arguments& arguments) {
  const std::string lmdb = arguments.operands()[0];
  if (arguments.has("output")) check_may_replace(arguments, arguments.text("output"));
  const data::Records records(lmdb);
  const data::Record record = find_record(records, arguments.operands()[1]);
  try {
    data::Record image = record;
    image.value = data::datum_in(record.value);
    data::DatumReader reader;
    data::Label label = 0;
    const data::Sample sample = reader.read(image, label);
    std::vector<float> floats;
    const bool encoded = !data::parse_datum(image.value, floats).encoded.empty();
    if (arguments.has("output"))
      write_file_atomically(arguments.text("output"), data::image_file_of(record.value).content);
    const nlohmann::ordered_json json = {{"key", data::printable(record.key)},
                                         {"label", label_json(label)},
                                         {"shape", {sample.channels, sample.height, sample.width}},
                                         {"encoded", encoded},
                                         {"bytes", record.value.size()}};
    if (arguments.on("json"))
      std::cout << dumped_json(json, 2) << "\n";
    else
      std::cout << data::printable(record.key) << ": label " << data::label_text(label) << ", " << sample.shape_str()
                << ", "
                << (encoded        ? "an image file"
                    : sample.bytes ? "pixels"
                                   : "floats")
                << ", " << bytes_text(int64_t(record.value.size())) << "\n";
  } catch (const data::SampleError& error) {
    data::throw_bad_record(records.database(), record.key, error);
  }
  return 0;
}

}  // namespace cortado::tools
