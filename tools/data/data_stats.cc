// `cortado data stats` and `data verify`: describe the content of a dataset, and check that all of it can be used.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/json.h"
#include "core/text/text.h"
#include "data/inspect/class_names.h"
#include "data/inspect/dataset_stats.h"
#include "tools/data/data_command.h"
#include "tools/output/progress.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

using data::DatasetStats;
using nlohmann::ordered_json;

DatasetStats look(const std::string& lmdb, CountedProgress& progress, data::StatsOptions options) {
  options.progress = progress.callback();
  DatasetStats stats = data::dataset_stats(lmdb, options);
  progress.finish();
  return stats;
}

/// Names of classes, of records or objects, by label.
using Names = std::map<int32_t, std::string>;

Names names_of(const std::string& lmdb, const DatasetStats& stats) {
  return data::class_names_of(lmdb, stats.annotated > 0);
}

/// The number of records or objects whose label has no name; 0 without names.
int64_t unnamed(const DatasetStats& stats, const Names& names) {
  int64_t sum = 0;
  for (const auto& [label, count] : stats.per_label)
    if (label < 0 || (!names.empty() && !names.contains(label))) sum += count;
  return sum;
}

std::string of_labels(const DatasetStats& stats, int64_t count) {
  return stats.annotated > 0 ? count_of(count, "object", "objects") : count_of(count, "record", "records");
}

std::string numbers_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : " ") + number_text("%.2f", value);
  return text;
}

std::string lengths_text(const DatasetStats::Lengths& lengths) {
  const std::string least = std::to_string(lengths.least());
  if (lengths.least() == lengths.most()) return least;
  return least + " to " + std::to_string(lengths.most()) + " (median " + std::to_string(lengths.median()) + ")";
}

void show_broken(const DatasetStats& stats, const std::string& lmdb) {
  for (const DatasetStats::Broken& one : stats.listed_broken)
    show_error(lmdb + ": record '" + one.key + "': error: " + one.reason);
  const int64_t more = stats.broken - int64_t(stats.listed_broken.size());
  if (more > 0) show_error("and " + count_text(more) + " more");
}

/// Prints the numbers of odd images. Only --json lists their names.
void show_odd_images(const data::OddImages& odd) {
  const char* named = odd.any() ? " (--json lists them)" : "";
  std::cout << "duplicates: " << count_text(odd.doubles);
  if (odd.contradictions > 0) std::cout << ", of these " << count_text(odd.contradictions) << " with another label";
  if (odd.leaks > 0) std::cout << "\nduplicates of images in an earlier dataset: " << count_text(odd.leaks);
  std::cout << "\nnearly black: " << count_text(odd.dark) << named << "\n";
}

void show_stats(const std::string& lmdb, const DatasetStats& stats, const Names& names) {
  std::cout << lmdb << ": " << count_of(stats.records, "record", "records") << ", " << bytes_text(stats.bytes) << ", "
            << (stats.encoded == 0               ? "pixels"
                : stats.encoded == stats.records ? "image files"
                                                 : count_text(stats.encoded) + " of them image files")
            << "\n";
  if (stats.decoded > 0) {
    std::cout << "channels " << stats.channels() << ", height " << lengths_text(stats.height) << ", width "
              << lengths_text(stats.width)
              << (stats.one_size() ? "" : ", " + count_of(int64_t(stats.per_size.size()), "size", "sizes")) << "\nmean "
              << numbers_text(stats.mean) << ", deviation " << numbers_text(stats.deviation) << "\n";
    show_odd_images(stats.odd);
  }
  std::cout << "undecodable: " << count_text(stats.broken) << "\n";
  if (const int64_t count = unnamed(stats, names))
    std::cout << "labels without a class: " << of_labels(stats, count) << "\n";
  if (stats.numbers.count > 0)
    std::cout << "labels that are numbers, not classes: " << of_labels(stats, stats.numbers.count) << ", "
              << data::label_text(stats.numbers.least) << " to " << data::label_text(stats.numbers.most) << "\n";
  int64_t total = stats.numbers.count;
  for (const auto& [label, count] : stats.per_label) total += count;
  Table table({"label", stats.annotated > 0 ? "objects" : "records", "share", "class"});
  for (const auto& [label, count] : stats.per_label)
    table.add({std::to_string(label), count_text(count), number_text("%.1f%%", 100 * double(count) / double(total)),
               names.contains(label) ? names.at(label) : ""});
  std::cout << table.str({0, 1, 2});
}

ordered_json stats_json(const std::vector<std::string>& lmdbs, const std::string& lmdb, const DatasetStats& stats,
                        const Names& names) {
  ordered_json json = {{"source", lmdb},
                       {"records", stats.records},
                       {"bytes", stats.bytes},
                       {"encoded", stats.encoded},
                       {"undecodable", stats.broken},
                       {"broken", ordered_json::array()},
                       {"channels", stats.channels()},
                       {"height", {stats.height.least(), stats.height.most()}},
                       {"width", {stats.width.least(), stats.width.most()}},
                       {"median_height", stats.height.median()},
                       {"median_width", stats.width.median()},
                       {"sizes", stats.per_size},
                       {"mean", stats.mean},
                       {"deviation", stats.deviation},
                       {"doubles", stats.odd.doubles},
                       {"leaks", stats.odd.leaks},
                       {"contradictions", stats.odd.contradictions},
                       {"near_black", stats.odd.dark},
                       {"told_doubles", ordered_json::array()},
                       {"told_near_black", stats.odd.listed_dark},
                       {"labels_without_class", unnamed(stats, names)},
                       {"per_label", ordered_json::array()}};
  if (stats.numbers.count > 0)
    json["labels_that_are_numbers"] = {
        {"records", stats.numbers.count}, {"least", stats.numbers.least}, {"most", stats.numbers.most}};
  for (const DatasetStats::Broken& one : stats.listed_broken)
    json["broken"].push_back({{"key", one.key}, {"reason", one.reason}});
  for (const data::OddImages::Double& one : stats.odd.listed_doubles)
    json["told_doubles"].push_back({{"key", one.name},
                                    {"first", one.first},
                                    {"first_source", lmdbs[size_t(one.first_set)]},
                                    {"label", label_json(one.label)},
                                    {"first_label", label_json(one.first_label)}});
  for (const auto& [label, count] : stats.per_label) {
    ordered_json one = {{"label", label}, {stats.annotated > 0 ? "objects" : "records", count}};
    if (names.contains(label)) one["name"] = names.at(label);
    if (const auto samples = stats.samples.find(label); samples != stats.samples.end())
      one["samples"] = samples->second;
    json["per_label"].push_back(one);
  }
  return json;
}

}  // namespace

ordered_json label_json(data::Label label) {
  return data::is_class(label) ? ordered_json(data::class_of(label)) : ordered_json(label);
}

int run_data_stats(const Arguments& arguments) {
  ordered_json list = ordered_json::array();
  const std::vector<std::string>& lmdbs = arguments.operands();
  CountedProgress progress("read", arguments.on("progress"));
  data::OddImageFinder finder;
  for (size_t i = 0; i < lmdbs.size(); ++i) {
    const std::string& lmdb = lmdbs[i];
    const DatasetStats stats = look(lmdb, progress, {.finder = &finder, .set = int(i)});
    if (arguments.on("json"))
      list.push_back(stats_json(lmdbs, lmdb, stats, names_of(lmdb, stats)));
    else
      show_stats(lmdb, stats, names_of(lmdb, stats));
  }
  if (arguments.on("json")) std::cout << dumped_json(list, 2) << "\n";
  return 0;
}

int run_data_verify(const Arguments& arguments) {
  int64_t broken = 0;
  CountedProgress progress("read");
  for (const std::string& lmdb : arguments.operands()) {
    const DatasetStats stats = look(lmdb, progress, {.find_odd = false});
    show_broken(stats, lmdb);
    broken += stats.broken;
    if (const int64_t count = unnamed(stats, names_of(lmdb, stats))) {
      show_error(lmdb + ": error: " + of_labels(stats, count) + " without a class");
      broken += count;
    }
    if (stats.broken == 0)
      std::cout << lmdb << ": " << count_of(stats.records, "record", "records") << ", all can be used\n";
  }
  if (broken == 0) return 0;
  throw Error(ExitCode::kData, count_of(broken, "record cannot be used", "records cannot be used"),
              "convert the dataset again from its source files");
}

}  // namespace cortado::tools
