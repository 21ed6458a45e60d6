// The report of `cortado convert` about the dataset that it wrote.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/json.h"
#include "core/text/text.h"
#include "tools/convert/convert.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

using data::ConvertReport;
using nlohmann::ordered_json;

namespace {

std::string size_text(const ConvertReport& report) {
  if (report.channels == 0) return "encoded images";
  return std::to_string(report.channels) + "x" + std::to_string(report.height) + "x" + std::to_string(report.width);
}

void show_line(const std::string& path, int64_t records, const ConvertReport& report) {
  std::cout << path << ": " << count_of(records, "record", "records") << ", " << size_text(report)
            << (report.mixed_sizes ? " and other sizes: train with crop_size or resize them" : "")
            << (report.mixed_channels ? " and other numbers of channels: convert them without --encoded, or train with "
                                        "force_encoded_color"
                                      : "")
            << "\n";
}

void show_skipped(const ConvertReport& report) {
  if (report.skipped == 0) return;
  std::cout << "skipped " << count_of(report.skipped, "hidden file or folder", "hidden files and folders")
            << " (.DS_Store, Thumbs.db and the like)\n";
}

std::string more_text(int64_t all, size_t listed) {
  return all > int64_t(listed) ? ", and " + count_text(all - int64_t(listed)) + " more" : "";
}

void show_noted(const data::Noted& noted, const std::string& what) {
  constexpr size_t kListed = 5;
  if (noted.count == 0) return;
  std::cout << what << ":";
  const size_t listed = std::min(kListed, noted.first.size());
  for (size_t i = 0; i < listed; ++i) std::cout << (i ? ", " : " ") << noted.first[i];
  std::cout << more_text(noted.count, listed) << "\n";
}

void show_folders(const data::FolderNotes& folders) {
  const auto& [nested, loose, empty, unchosen] = folders;
  show_noted(nested,
             "included the images of " + count_of(nested.count, "subfolder", "subfolders") + " of class folders");
  show_noted(loose, "skipped " + count_of(loose.count, "file", "files") + " next to the class folders");
  show_noted(empty, count_of(empty.count, "empty folder is a class without images",
                             "empty folders are classes without images"));
  show_noted(unchosen,
             "skipped " + count_of(unchosen.count, "folder", "folders") + " next to the training and test folders");
}

ordered_json folders_json(const data::FolderNotes& folders) {
  const auto json = [](const data::Noted& noted) {
    return ordered_json{{"count", noted.count}, {"first", noted.first}};
  };
  return {{"nested", json(folders.nested)},
          {"loose", json(folders.loose)},
          {"empty", json(folders.empty)},
          {"unchosen", json(folders.unchosen)}};
}

std::string side_range_text(int least, int most) {
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

/// Prints sizes if they differ, and a hint if pixels take much space.
void show_sizes(const ConvertReport& report) {
  constexpr int64_t kMuch = int64_t(1) << 20;
  if (report.mixed_sizes && report.most_height > 0)
    std::cout << "sizes: height " << side_range_text(report.least_height, report.most_height) << ", width "
              << side_range_text(report.least_width, report.most_width) << "\n";
  const int64_t records = report.written + report.test.written, each = report.bytes / std::max<int64_t>(records, 1);
  if (report.channels > 0 && each > kMuch)
    std::cout << "hint: a record takes " << bytes_text(each)
              << "; --short-side=256 --encoded writes small JPEGs, enough for most nets\n";
}

void show_odd(const data::OddImages& odd) {
  constexpr size_t kListed = 5;
  if (odd.doubles > 0) {
    std::cout << count_of(odd.doubles, "image is a duplicate", "images are duplicates") << ":";
    const size_t listed = std::min(kListed, odd.listed_doubles.size());
    for (size_t i = 0; i < listed; ++i)
      std::cout << (i ? ", " : " ") << odd.listed_doubles[i].name << " = " << odd.listed_doubles[i].first;
    std::cout << more_text(odd.doubles, listed) << "\n";
  }
  if (odd.leaks > 0)
    std::cout << "  of these " << count_text(odd.leaks)
              << " are in the other set than their duplicate: the test set contains training images\n";
  if (odd.contradictions > 0)
    std::cout << "  of these " << count_text(odd.contradictions) << " have another class than their duplicate\n";
  if (odd.dark == 0) return;
  std::cout << count_of(odd.dark, "image is", "images are") << " nearly black:";
  const size_t listed = std::min(kListed, odd.listed_dark.size());
  for (size_t i = 0; i < listed; ++i) std::cout << (i ? ", " : " ") << odd.listed_dark[i];
  std::cout << more_text(odd.dark, listed) << "\n";
}

ordered_json odd_json(const data::OddImages& odd) {
  ordered_json json = {{"doubles", odd.doubles},
                       {"leaks", odd.leaks},
                       {"contradictions", odd.contradictions},
                       {"near_black", odd.dark},
                       {"told_doubles", ordered_json::array()},
                       {"told_near_black", odd.listed_dark}};
  for (const data::OddImages::Double& one : odd.listed_doubles)
    json["told_doubles"].push_back({{"name", one.name}, {"first", one.first}});
  return json;
}

}  // namespace

void show_rejects(const ConvertReport& report, bool left_out) {
  std::string text;
  for (const data::Rejected& rejected : report.rejects)
    text +=
        render(file_mistake(rejected.file, rejected.reason, "", int(rejected.line)), left_out ? "warning" : "error");
  for (const auto& [reason, count] : report.untold)
    text += "and " + count_text(count) + " more of this kind: " + reason + "\n";
  if (!text.empty()) show_error(text.substr(0, text.size() - 1));
}

void show_report(const ConvertReport& report, const std::string& output) {
  const bool two = report.test.written > 0;
  show_line(two ? join_path(output, data::kTrainPart) : output, report.written, report);
  if (two) show_line(join_path(output, data::kTestPart), report.test.written, report);
  show_sizes(report);
  show_skipped(report);
  show_folders(report.folders);
  if (report.rejected > 0) std::cout << count_of(report.rejected, "bad image was", "bad images were") << " left out\n";
  show_odd(report.odd);
  Table table(two ? std::vector<std::string>{"label", "train", "test", "class"}
                  : std::vector<std::string>{"label", "records", "class"});
  const size_t labels = std::max({report.per_label.size(), report.test.per_label.size(), report.classes.size()});
  const auto count = [](const std::vector<int64_t>& counts, size_t label) {
    return std::to_string(label < counts.size() ? counts[label] : 0);
  };
  for (size_t label = 0; label < labels && labels <= 1000; ++label) {
    std::vector<std::string> row = {std::to_string(label), count(report.per_label, label)};
    if (two) row.push_back(count(report.test.per_label, label));
    row.push_back(label < report.classes.size() ? report.classes[label] : "");
    table.add(row);
  }
  if (!report.label_map.empty()) std::cout << "classes: " << report.label_map << "\n";
  if (labels > 0) std::cout << (two ? table.str({0, 1, 2}) : table.str({0, 1}));
}

void show_report_json(const ConvertReport& report, const std::string& output) {
  ordered_json json = {{"output", output},
                       {"kept", report.kept},
                       {"written", report.written},
                       {"rejected", report.rejected},
                       {"rejects", ordered_json::array()},
                       {"untold", ordered_json::array()},
                       {"skipped", report.skipped},
                       {"folders", folders_json(report.folders)},
                       {"shape", {report.channels, report.height, report.width}},
                       {"mixed_sizes", report.mixed_sizes},
                       {"mixed_channels", report.mixed_channels},
                       {"height", {report.least_height, report.most_height}},
                       {"width", {report.least_width, report.most_width}},
                       {"odd", odd_json(report.odd)},
                       {"per_label", report.per_label},
                       {"classes", report.classes}};
  if (report.test.written > 0) json["test"] = {{"written", report.test.written}, {"per_label", report.test.per_label}};
  for (const data::Rejected& rejected : report.rejects)
    json["rejects"].push_back({{"file", rejected.file}, {"line", rejected.line}, {"reason", rejected.reason}});
  for (const auto& [reason, count] : report.untold) json["untold"].push_back({{"reason", reason}, {"count", count}});
  std::cout << dumped_json(json, 2) << "\n";
}

}  // namespace cortado::tools
