#include "data/curate/records.h"

#include "core/files/file.h"
#include "data/convert/convert.h"
#include "data/convert/dataset_builder.h"
#include "data/formats/datum.h"
#include "data/sources/datum_reader.h"

namespace cortado::data {

Records::Records(const std::string& lmdb) : database_(Lmdb::open(lmdb)) {
  LmdbCursor cursor(database_);
  positions_.reserve(size_t(database_->records()));
  for (int64_t i = 0; i < database_->records(); ++i) {
    positions_.push_back(cursor.position());
    cursor.skip();
  }
}

template <typename Use>
auto Records::read(size_t i, const Use& use) const {
  const Record record = (*this)[i];
  try {
    return use(parse_datum(datum_in(record.value), floats_).label);
  } catch (const SampleError& error) {
    database_->check_unchanged();
    throw_bad_record(*database_, record.key, error);
  }
}

Label Records::label(size_t i) const {
  return read(i, [](Label label) { return label; });
}

std::vector<Label> Records::labels() const {
  std::vector<Label> labels;
  for (size_t i = 0; i < size(); ++i) labels.push_back(label(i));
  return labels;
}

std::vector<int32_t> Records::classes() const {
  std::vector<int32_t> classes;
  for (size_t i = 0; i < size(); ++i) classes.push_back(read(i, class_of));
  return classes;
}

bool Records::annotated() const { return size() > 0 && is_annotated((*this)[0].value); }

std::string_view name_in_key(std::string_view key) {
  const size_t digits = std::min(key.find_first_not_of("0123456789"), key.size());
  if (digits == 0) return key;
  if (digits == key.size()) return "";
  return key[digits] == '_' ? key.substr(digits + 1) : key;
}

std::string renumbered(int64_t number, std::string_view key) {
  const std::string_view name = name_in_key(key);
  const std::string digits = number_key(number, 8);
  return name.empty() ? digits
                      : digits + "_" + std::string(name.substr(0, LmdbWriter::kMaxKeyBytes - 1 - digits.size()));
}

}  // namespace cortado::data
