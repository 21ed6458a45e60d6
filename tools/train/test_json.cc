#include "tools/train/test_report.h"

namespace cortado::tools {

namespace {

constexpr int64_t kMaxMatrixWidth = 1000;  // the widest confusion matrix that JSON contains

std::string class_name_of(const std::vector<std::string>& names, int64_t c) {
  return names.empty() ? "" : names[size_t(c)];
}

nlohmann::ordered_json share_or_null(int64_t part, int64_t of) {
  return of > 0 ? nlohmann::ordered_json(double(part) / double(of)) : nlohmann::ordered_json();
}

/// Each output: a number, or a list for several elements.
template <typename Value>
nlohmann::ordered_json by_output(const std::vector<Score>& scores, const Value& value) {
  auto out = nlohmann::ordered_json::object();
  for (const Elements& output : outputs_of(scores)) {
    auto list = nlohmann::ordered_json::array();
    for (size_t i = output.first; i < output.first + output.count; ++i) list.push_back(value(i));
    out[scores[output.first].name] = output.count == 1 ? list[0] : list;
  }
  return out;
}

nlohmann::ordered_json matrix_json(const Confusion& confusion) {
  if (confusion.classes() > kMaxMatrixWidth) return {};
  auto rows = nlohmann::ordered_json::array();
  for (int64_t truth = 0; truth < confusion.classes(); ++truth) {
    auto row = nlohmann::ordered_json::array();
    for (int64_t c = 0; c < confusion.classes(); ++c) row.push_back(confusion.count(truth, c));
    rows.push_back(std::move(row));
  }
  return rows;
}

nlohmann::ordered_json classification_json(const Classification& of, const std::vector<std::string>& names) {
  const Confusion& confusion = of.confusion;
  nlohmann::ordered_json out = {{"layer", of.layer},
                                {"scores", of.scores},
                                {"labels", of.labels},
                                {"samples", confusion.samples()},
                                {"accuracy", share_or_null(confusion.right(), confusion.samples())},
                                {"classes", nlohmann::ordered_json::array()},
                                {"confusion", matrix_json(confusion)},
                                {"mistaken", nlohmann::ordered_json::array()}};
  for (int64_t c = 0; c < confusion.classes(); ++c) {
    const int64_t right = confusion.right_of(c);
    out["classes"].push_back({{"class", c},
                              {"name", class_name_of(names, c)},
                              {"samples", confusion.samples_of(c)},
                              {"predicted", confusion.taken_for(c)},
                              {"right", right},
                              {"recall", share_or_null(right, confusion.samples_of(c))},
                              {"precision", share_or_null(right, confusion.taken_for(c))}});
  }
  for (const Confusion::Pair& pair : confusion.mistaken())
    out["mistaken"].push_back({{"true", pair.truth}, {"predicted", pair.taken_for}, {"count", pair.count}});
  return out;
}

}  // namespace

nlohmann::ordered_json json_of(TestReport& report) {
  const std::vector<Score>&exact = report.scores.exact(), &means = report.scores.means();
  const std::vector<ScoreParts>& parts = report.scores.parts();
  nlohmann::ordered_json out = {
      {"iterations", report.batches},
      {"samples", report.samples},
      {"loss", report.scores.exact_loss()},
      {"outputs", by_output(exact, [&](size_t i) { return exact[i].value; })},
      {"counts",
       by_output(exact,
                 [&](size_t i) { return parts[i].known ? nlohmann::ordered_json(parts[i].denominator) : nullptr; })},
      {"batch_means", by_output(means, [&](size_t i) { return means[i].value; })},
      {"classifications", nlohmann::ordered_json::array()}};
  for (size_t k = 0; k < report.classifications.size(); ++k)
    out["classifications"].push_back(classification_json(report.classifications[k], report.names[k]));
  return out;
}

}  // namespace cortado::tools
