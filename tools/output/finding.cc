#include "tools/output/finding.h"

#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

using nlohmann::ordered_json;

ordered_json place_json(const Place& place) {
  ordered_json json = {{"file", place.file}};
  if (place.line > 0) json["line"] = place.line;
  if (place.column > 0) json["column"] = place.column;
  return json;
}

ordered_json mistake_json(const Mistake& mistake) {
  ordered_json one = place_json(mistake.place);
  one["message"] = mistake.message;
  one["hint"] = mistake.hint;
  for (const Note& note : mistake.notes) {
    ordered_json told = place_json(note.place);
    told["message"] = note.message;
    one["notes"].push_back(told);
  }
  return one;
}

}  // namespace

void Finding::add(ExitCode found, const std::vector<Mistake>& list) {
  if (code == ExitCode::kOk || found == ExitCode::kNet) code = found;
  for (const Mistake& mistake : list) {
    const auto [told, fresh] = told_.try_emplace(render(mistake), Told{mistakes.size(), {}});
    if (fresh) mistakes.push_back(mistake);
    if (phase_) told->second.phases.insert(*phase_);
  }
}

void Finding::enter(caffe::Phase phase) {
  phase_ = phase;
  phases_.insert(phase);
}

void Finding::name_phases() {
  phase_.reset();
  for (const auto& [text, told] : told_) {
    std::string& message = mistakes[told.mistake].message;
    if (phases_.size() < 2 || told.phases.size() != 1 || message.find(" phase ") != std::string::npos) continue;
    message += " (in phase " + caffe::Phase_Name(*told.phases.begin()) + ")";
  }
}

void Finding::warn(const std::vector<Mistake>& list) {
  for (const Mistake& warning : list)
    if (warned_.insert(render(warning)).second) warnings.push_back(warning);
}

std::string summary_of(const Finding& finding) {
  std::string text = std::to_string(finding.nets) + (finding.nets == 1 ? " net" : " nets");
  if (finding.kind == "net" && finding.phases().size() == 1)
    text += " (phase " + caffe::Phase_Name(*finding.phases().begin()) + ")";
  text += ", " + std::to_string(finding.layers) + " layers";
  if (finding.params > 0) text += ", " + count_text(finding.params) + " params";
  if (finding.train_bytes > 0) text += ", " + bytes_text(finding.train_bytes) + " train memory";
  std::set<std::string> told;
  for (const LabelsSeen& labels : finding.labels)
    if (labels.seen < labels.records && told.insert(labels.source).second)
      text += ", labels of " + count_text(labels.seen) + " of the " + count_text(labels.records) + " records of " +
              labels.source;
  return text;
}

ordered_json to_json(const Finding& finding) {
  ordered_json json = {{"file", finding.path},
                       {"kind", finding.kind},
                       {"ok", finding.mistakes.empty()},
                       {"nets", finding.nets},
                       {"phases", ordered_json::array()},
                       {"layers", finding.layers},
                       {"params", finding.params},
                       {"train_memory_bytes", finding.train_bytes},
                       {"labels", ordered_json::array()},
                       {"mistakes", ordered_json::array()},
                       {"warnings", ordered_json::array()}};
  for (const caffe::Phase phase : finding.phases()) json["phases"].push_back(caffe::Phase_Name(phase));
  for (const LabelsSeen& labels : finding.labels)
    json["labels"].push_back({{"source", labels.source}, {"records", labels.records}, {"seen", labels.seen}});
  for (const Mistake& mistake : finding.mistakes) json["mistakes"].push_back(mistake_json(mistake));
  for (const Mistake& warning : finding.warnings) json["warnings"].push_back(mistake_json(warning));
  return json;
}

}  // namespace cortado::tools
