#include <algorithm>
#include <numeric>

#include "tools/net/frozen_net.h"
#include "tools/output/terminal.h"
#include "tools/train/test_report.h"

namespace cortado::tools {

namespace {

constexpr int64_t kMaxClasses = 40;  // more classes are not all shown
constexpr size_t kWorstClasses = 20, kMaxPairs = 20, kMaxElements = 20;

/// "3", or "3 sandal".
std::string label_of(const std::vector<std::string>& names, int64_t c) {
  return std::to_string(c) + (names.empty() ? "" : " " + names[size_t(c)]);
}

std::string share_text(int64_t part, int64_t of) {
  return of > 0 ? number_text("%.4f", double(part) / double(of)) : "-";
}

std::string scores_table(TestReport& report, int64_t classes) {
  const std::vector<Score>&exact = report.scores.exact(), &means = report.scores.means();
  bool any = false;
  for (size_t i = 0; i < exact.size(); ++i) any = any || differ(exact[i].value, means[i].value);
  std::vector<std::string> header = {"output", "value"};
  if (any) header.push_back("mean of batches");
  Table table(header);
  for (const Elements& output : outputs_of(exact)) {
    if (output.count > 1 && int64_t(output.count) == classes) continue;  // a column of the classes' table
    const size_t shown = std::min(output.count, kMaxElements);
    for (size_t i = output.first; i < output.first + shown; ++i) {
      std::vector<std::string> row = {score_name(exact, i), score_text(exact[i].value)};
      if (differ(exact[i].value, means[i].value)) row.push_back(score_text(means[i].value));
      table.add(row);
    }
    if (shown < output.count) table.add({"...", std::to_string(output.count - shown) + " more"});
  }
  return table.str({1, 2});
}

/// All classes, or of many the least accurate ones that have samples.
std::vector<int64_t> shown_classes(const Confusion& confusion) {
  std::vector<int64_t> classes(size_t(confusion.classes()));
  std::iota(classes.begin(), classes.end(), int64_t(0));
  if (confusion.classes() <= kMaxClasses) return classes;
  std::erase_if(classes, [&](int64_t c) { return confusion.samples_of(c) == 0; });
  std::stable_sort(classes.begin(), classes.end(), [&](int64_t a, int64_t b) {
    return double(confusion.right_of(a)) / double(confusion.samples_of(a)) <
           double(confusion.right_of(b)) / double(confusion.samples_of(b));
  });
  classes.resize(std::min(classes.size(), kWorstClasses));
  return classes;
}

/// Outputs with an element for each class, except those that equal the accuracies in the table.
std::vector<Elements> class_columns(const std::vector<Score>& scores, const Confusion& confusion) {
  std::vector<Elements> columns;
  for (const Elements& output : outputs_of(scores)) {
    if (output.count == 1 || int64_t(output.count) != confusion.classes()) continue;
    bool new_to_all = false;
    for (int64_t c = 0; c < confusion.classes(); ++c) {
      const int64_t of = confusion.samples_of(c);
      const double known = of > 0 ? double(confusion.right_of(c)) / double(of) : 0;
      new_to_all = new_to_all || differ(scores[output.first + size_t(c)].value, known);
    }
    if (new_to_all) columns.push_back(output);
  }
  return columns;
}

std::string classes_table(const std::vector<Score>& scores, const std::vector<Elements>& columns,
                          const Confusion& confusion, const std::vector<std::string>& names) {
  std::vector<std::string> header = {"class", "samples", "accuracy", "precision"};
  for (const Elements& column : columns) header.push_back(scores[column.first].name);
  Table table(header);
  for (const int64_t c : shown_classes(confusion)) {
    const int64_t right = confusion.right_of(c), of = confusion.samples_of(c);
    std::vector<std::string> row = {label_of(names, c), std::to_string(of), share_text(right, of),
                                    share_text(right, confusion.taken_for(c))};
    for (const Elements& column : columns) row.push_back(number_text("%.4f", scores[column.first + size_t(c)].value));
    table.add(row);
  }
  std::vector<size_t> right(header.size() - 1);
  std::iota(right.begin(), right.end(), size_t(1));
  return table.str(right);
}

size_t width_of_text(const std::string& text) {
  size_t widest = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    widest = std::max(widest, end - begin);
    begin = end + 1;
  }
  return widest;
}

/// With as many of the columns as fit.
std::string fitting_classes_table(const std::vector<Score>& scores, const Confusion& confusion,
                                  const std::vector<std::string>& names, size_t columns) {
  std::vector<Elements> more = class_columns(scores, confusion);
  std::string text = classes_table(scores, more, confusion, names);
  while (!more.empty() && width_of_text(text) > columns) {
    more.pop_back();
    text = classes_table(scores, more, confusion, names);
  }
  if (confusion.classes() > kMaxClasses)
    text += "the least accurate of " + std::to_string(confusion.classes()) + " classes; --json has all\n";
  return text;
}

std::string matrix_table(const Confusion& confusion, const std::vector<std::string>& names) {
  std::vector<std::string> header = {"true \\ predicted"};
  std::vector<size_t> right;
  for (int64_t c = 0; c < confusion.classes(); ++c) {
    header.push_back(std::to_string(c));
    right.push_back(size_t(c) + 1);
  }
  Table table(header);
  for (int64_t truth = 0; truth < confusion.classes(); ++truth) {
    std::vector<std::string> row = {label_of(names, truth)};
    for (int64_t c = 0; c < confusion.classes(); ++c) {
      const int64_t count = confusion.count(truth, c);
      row.push_back(count > 0 ? std::to_string(count) : ".");
    }
    table.add(row);
  }
  return table.str(right);
}

std::string pairs_table(const Confusion& confusion, const std::vector<std::string>& names) {
  const std::vector<Confusion::Pair> pairs = confusion.mistaken();
  if (pairs.empty()) return "";
  Table table({"true", "predicted", "times", "of"});
  for (size_t i = 0; i < std::min(kMaxPairs, pairs.size()); ++i)
    table.add({label_of(names, pairs[i].truth), label_of(names, pairs[i].taken_for), std::to_string(pairs[i].count),
               std::to_string(confusion.samples_of(pairs[i].truth))});
  const size_t more = pairs.size() - std::min(kMaxPairs, pairs.size());
  return table.str({2, 3}) + (more > 0 ? "and " + std::to_string(more) + " more pairs; --json has all\n" : "");
}

std::string confusion_table(const Confusion& confusion, const std::vector<std::string>& names, size_t columns) {
  const std::string matrix = confusion.classes() <= kMaxClasses ? matrix_table(confusion, names) : "";
  return matrix.empty() || width_of_text(matrix) > columns ? pairs_table(confusion, names) : matrix;
}

}  // namespace

std::vector<Elements> outputs_of(const std::vector<Score>& scores) {
  std::vector<Elements> out;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (out.empty() || scores[i].name != scores[out.back().first].name) out.push_back({i, 0});
    ++out.back().count;
  }
  return out;
}

std::string tables_of(TestReport& report, size_t columns) {
  const bool judged = !report.classifications.empty();
  std::string text = std::to_string(report.batches) + (report.batches == 1 ? " batch" : " batches");
  if (report.samples > 0) text = std::to_string(report.samples) + " samples in " + text;
  text += "\n\n" + scores_table(report, judged ? report.classifications.back().confusion.classes() : 0);
  if (!judged) return text;
  const Classification& last = report.classifications.back();
  const std::vector<std::string>& names = report.names.back();
  text += "\nlayer '" + last.layer + "': '" + last.scores + "' against '" + last.labels + "'\n\n";
  text += fitting_classes_table(report.scores.exact(), last.confusion, names, columns);
  const std::string confusion = confusion_table(last.confusion, names, columns);
  return confusion.empty() ? text : text + "\n" + confusion;
}

}  // namespace cortado::tools
