#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "data/curate/curate.h"
#include "data/curate/records.h"
#include "data/formats/datum.h"
#include "data/formats/labels.h"
#include "data/formats/text.h"
#include "data/lmdb/lmdb_writer.h"
#include "data/sources/datum_reader.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

namespace {

using LabelsOfNames = std::map<std::string, int32_t>;
using NewLabels = std::map<int32_t, int32_t>;

constexpr int32_t kBackground = 0;

/// The classes of one set by name. Throws Error(kData) if two classes have the same name.
LabelsOfNames labels_in(const std::string& file) {
  LabelsOfNames labels;
  int32_t label = 0;
  for (const std::string& name : read_labels(file))
    if (!labels.emplace(name, label++).second)
      throw file_error(ExitCode::kData, file, "two classes have the name '" + printable(name) + "'",
                       "use different names, because classes with the same name are merged");
  return labels;
}

/// Merges classes with the same name: those of the first set keep their labels, others get the next free ones.
class CommonClasses {
 public:
  void add_labels(const std::string& file) {
    std::map<int32_t, std::string> names;
    for (const auto& [name, label] : labels_in(file)) names[label] = name;
    NewLabels& added = news_.emplace_back();
    for (const auto& [label, name] : names) added[label] = label_of(name, label);
  }

  /// Label 0 is the background of each set, regardless of its name.
  void add_map(const std::string& file) {
    NewLabels& added = news_.emplace_back();
    const caffe::LabelMap map = read_label_map(file);
    for (const caffe::LabelMapItem& item : map.item()) {
      const bool background = item.label() == kBackground;
      if (background) names_.emplace(kBackground, item.name());
      added[item.label()] = background ? kBackground : label_of(item.name(), item.label());
      shown_.emplace(added[item.label()], item.display_name());
    }
  }

  bool relabelled() const {
    const auto moves = [](const NewLabels& labels) {
      return std::any_of(labels.begin(), labels.end(), [](const auto& one) { return one.first != one.second; });
    };
    return std::any_of(news_.begin(), news_.end(), moves);
  }

  size_t sets() const { return news_.size(); }
  const NewLabels& of_set(size_t k) const { return news_[k]; }

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& [label, name] : names_) list.push_back(name);
    return list;
  }

  /// Throws Error(kData) if there are more classes than a label map may have.
  std::string map_text() const {
    if (names_.size() > kMaxInLabelMap)
      throw Error(ExitCode::kData,
                  "the datasets have " + std::to_string(names_.size()) +
                      " classes together, but the limit of a label map is " + std::to_string(kMaxInLabelMap),
                  "merge fewer of them");
    caffe::LabelMap map;
    for (const auto& [label, name] : names_) {
      caffe::LabelMapItem& item = *map.add_item();
      item.set_name(name);
      item.set_label(label);
      if (const std::string& shown = shown_.at(label); !shown.empty()) item.set_display_name(shown);
    }
    return map.DebugString();
  }

 private:
  int32_t label_of(const std::string& name, int32_t wanted) {
    const auto [at, fresh] = labels_.emplace(name, wanted);
    if (!fresh) return at->second;
    if (news_.size() > 1) at->second = names_.empty() ? 0 : names_.rbegin()->first + 1;
    names_[at->second] = name;
    return at->second;
  }

  LabelsOfNames labels_;
  std::map<int32_t, std::string> names_, shown_;
  std::vector<NewLabels> news_;
};

/// Reads the names of each set. Throws Error(kData) if some sets have names and others do not.
CommonClasses common_classes(const std::vector<std::string>& lmdbs, bool annotated) {
  const char* const part = annotated ? kLabelMapPart : kLabelsPart;
  CommonClasses classes;
  for (const std::string& lmdb : lmdbs) {
    const std::string file = names_file_of(lmdb, part);
    if (file.empty()) continue;
    annotated ? classes.add_map(file) : classes.add_labels(file);
  }
  if (classes.sets() != 0 && classes.sets() != lmdbs.size())
    throw file_error(
        ExitCode::kData, lmdbs[0],
        "some of the datasets have names of classes and others do not, so labels cannot be compared",
        std::string("write the missing DATASET.") + part + (annotated ? "" : ", with a name on each line"));
  return classes;
}

bool have_objects(const std::vector<std::string>& lmdbs) {
  std::optional<bool> annotated;
  for (const std::string& lmdb : lmdbs) {
    const bool now = Records(lmdb).annotated();
    if (annotated.value_or(now) != now)
      throw file_error(ExitCode::kData, lmdb,
                       std::string("its records have ") + (now ? "objects" : "no objects") + ", and those of " +
                           lmdbs[0] + (now ? " have none" : " have some"),
                       "merge only sets of the same kind");
    annotated = now;
  }
  return annotated.value_or(false);
}

int32_t new_label(const NewLabels& labels, int32_t label) {
  const auto found = labels.find(label);
  if (found == labels.end()) throw SampleError("its label " + std::to_string(label) + " has no name");
  return found->second;
}

/// Throws SampleError.
std::string with_labels(std::string_view value, const NewLabels& labels) {
  if (is_annotated(value)) {
    std::vector<Object> objects;
    const std::string_view datum = parse_annotated_datum(value, objects);
    for (Object& object : objects) object.label = new_label(labels, object.label);
    return make_annotated_datum(datum, objects);
  }
  std::vector<float> floats;
  const int32_t label = class_of(parse_datum(value, floats).label);
  caffe::Datum datum;
  if (!datum.ParseFromArray(value.data(), int(value.size()))) throw SampleError("it is not a Datum");
  datum.mutable_unknown_fields()->DeleteByNumber(caffe::Datum::kLabelFieldNumber);  // of another type
  datum.set_label(new_label(labels, label));
  return datum.SerializeAsString();
}

}  // namespace

Merged merge_datasets(const std::vector<std::string>& lmdbs, const CurateOptions& options) {
  const bool annotated = have_objects(lmdbs);
  const CommonClasses classes = common_classes(lmdbs, annotated);
  Merged merged{0, classes.names(), classes.relabelled()};
  DatasetNames names;
  if (!merged.names.empty())
    (annotated ? names.label_map : names.labels) = annotated ? classes.map_text() : labels_text(merged.names);
  int64_t total = 0;
  for (const std::string& lmdb : lmdbs) total += Lmdb::open(lmdb)->records();
  LmdbWriter writer(options.output, options.force, names);
  std::string relabelled;
  for (size_t k = 0; k < lmdbs.size(); ++k) {
    const Records records(lmdbs[k]);
    for (size_t i = 0; i < records.size(); ++i) {
      const Record record = records[i];
      const std::string key = renumbered(merged.written++, record.key);
      records.label(i);  // reports unreadable records now
      try {
        writer.put(key, merged.relabelled ? std::string_view(relabelled = with_labels(record.value, classes.of_set(k)))
                                          : record.value);
      } catch (const SampleError& error) {
        throw_bad_record(records.database(), record.key, error);
      }
      if (options.progress && merged.written % 256 == 0) options.progress(merged.written, total);
    }
    records.database().check_unchanged();
  }
  writer.commit();
  return merged;
}

}  // namespace cortado::data
