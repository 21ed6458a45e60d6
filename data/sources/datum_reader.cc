#include "data/sources/datum_reader.h"

#include "core/error.h"
#include "data/formats/datum.h"
#include "data/formats/text.h"

namespace cortado::data {

Sample DatumReader::read(const Record& record, Label& label) {
  const DatumView datum = parse_datum(record.value, floats_);
  label = datum.label;
  if (datum.encoded.empty()) return datum.raw;
  decoder_.decode(datum.encoded, mode_, image_);
  return image_.sample();
}

Sample DatumReader::open(const Record& record, Label& label) {
  const DatumView datum = parse_datum(record.value, floats_);
  label = datum.label;
  raw_ = datum.raw;
  encoded_ = datum.encoded;
  labels_ = datum.labels;
  Sample sample = datum.encoded.empty() ? raw_ : decoder_.open(datum.encoded, mode_);
  sample.bytes = nullptr;
  sample.floats = nullptr;
  return sample;
}

SamplePart DatumReader::read_part(const SourceWindow& window, bool may_view, const PixelPlace& place) {
  if (decodes()) return decoder_.read(window, place);
  if (raw_.bytes != nullptr && may_view) return {raw_, {0, 0, raw_.height, raw_.width}};
  const SourcePart part{window.top, window.left, window.height, window.width};
  const size_t pixels = size_t(raw_.channels) * size_t(part.height) * size_t(part.width);
  return copy_part(raw_, part, place(pixels * (raw_.floats != nullptr ? sizeof(float) : 1)));
}

Sample DatumReader::label_image() {
  if (labels_.empty())
    throw SampleError("it has no label image (seg_label)", "remove the layer's third top, or use a dataset with both");
  if (encoded_.empty() && int64_t(labels_.size()) == int64_t(raw_.height) * raw_.width)
    return {1, raw_.height, raw_.width, reinterpret_cast<const uint8_t*>(labels_.data()), nullptr, false};
  try {
    label_decoder_.decode(labels_, ColorMode::kGray, label_image_);
  } catch (const SampleError& error) {
    throw SampleError(std::string("its label image: ") + error.what(), error.hint());
  }
  return label_image_.sample();
}

void throw_bad_record(const Lmdb& database, std::string_view key, const SampleError& error) {
  throw file_error(ExitCode::kData, database.path(), "record '" + printable(key) + "': " + error.what(), error.hint());
}

}  // namespace cortado::data
