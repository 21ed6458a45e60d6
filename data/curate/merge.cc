#include <algorithm>

#include "core/file.h"
#include "core/file_error.h"
#include "data/curate/curate.h"
#include "data/curate/records.h"
#include "data/formats/datum.h"
#include "data/formats/labels.h"
#include "data/lmdb/lmdb_writer.h"
#include "data/sources/datum_reader.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

namespace {

/// For each input the new label of each of its labels; empty: labels stay.
using NewLabels = std::vector<std::vector<int32_t>>;

NewLabels common_labels(const std::vector<std::string>& lmdbs, Merged& merged) {
  NewLabels all;
  for (const std::string& lmdb : lmdbs) {
    const std::string file = names_file_of(lmdb);
    if (file.empty()) continue;
    std::vector<int32_t> labels;
    for (const std::string& name : read_labels(file)) {
      const auto at = std::find(merged.names.begin(), merged.names.end(), name);
      labels.push_back(int32_t(at - merged.names.begin()));
      if (at == merged.names.end()) merged.names.push_back(name);
    }
    all.push_back(labels);
  }
  if (!all.empty() && all.size() != lmdbs.size())
    throw file_error(ExitCode::kData, lmdbs[0],
                     "some of the datasets have names of classes and others have none, so labels "
                     "cannot be compared",
                     "write the missing DATASET.labels.txt, a name on each line");
  for (const std::vector<int32_t>& labels : all)
    for (size_t i = 0; i < labels.size(); ++i) merged.relabelled = merged.relabelled || labels[i] != int32_t(i);
  if (!merged.relabelled) all.clear();
  return all;
}

/// Throws SampleError.
std::string with_label(std::string_view value, const std::vector<int32_t>& labels) {
  caffe::Datum datum;
  if (!datum.ParseFromArray(value.data(), int(value.size()))) throw SampleError("it is not a Datum");
  if (datum.label() < 0 || size_t(datum.label()) >= labels.size())
    throw SampleError("its label " + std::to_string(datum.label()) + " has no name");
  datum.set_label(labels[size_t(datum.label())]);
  return datum.SerializeAsString();
}

}  // namespace

Merged merge_datasets(const std::vector<std::string>& lmdbs, const CurateOptions& options) {
  Merged merged;
  const NewLabels labels = common_labels(lmdbs, merged);
  int64_t total = 0;
  for (const std::string& lmdb : lmdbs) total += Lmdb::open(lmdb)->records();
  LmdbWriter writer(options.output, options.force);
  std::string relabelled;
  for (size_t k = 0; k < lmdbs.size(); ++k) {
    const Records records(lmdbs[k]);
    for (size_t i = 0; i < records.size(); ++i) {
      const Record record = records[i];
      const std::string key = renumbered(merged.written++, record.key);
      records.label(i);  // what cannot be read is told now
      try {
        writer.put(key,
                   labels.empty() ? record.value : std::string_view(relabelled = with_label(record.value, labels[k])));
      } catch (const SampleError& error) {
        throw_bad_record(records.database(), record.key, error);
      }
      if (options.progress && merged.written % 256 == 0) options.progress(merged.written, total);
    }
    records.database().check_unchanged();
  }
  writer.commit();
  std::string names;
  for (const std::string& name : merged.names) names += name + "\n";
  if (!names.empty()) write_file_atomically(labels_file_of(options.output), names);
  return merged;
}

}  // namespace cortado::data
