// Records keep their keys and bytes, so both databases have the same samples in the same order.
#include "core/error.h"
#include "data/convert/dataset_builder.h"
#include "data/convert/leveldb.h"
#include "data/formats/datum.h"
#include "data/formats/text.h"

namespace cortado::data {

ConvertReport convert_leveldb(const LeveldbOptions& options) {
  Leveldb database(options.folder);
  DatasetBuilder builder(options, -1);
  std::vector<float> floats;
  std::string_view key, value;
  while (database.next(key, value)) {
    try {
      const DatumView datum = parse_datum(value, floats);
      if (key.empty() || key.size() > LmdbWriter::kMaxKeyBytes)
        throw SampleError("its key has " + std::to_string(key.size()) + " bytes; an LMDB's have 1 to " +
                          std::to_string(LmdbWriter::kMaxKeyBytes));
      builder.add(key, value, datum.label, datum.raw);
    } catch (const SampleError& error) {
      builder.reject(options.folder, 0, "record '" + printable(key) + "': " + error.what());
    }
  }
  return builder.finish();
}

}  // namespace cortado::data
