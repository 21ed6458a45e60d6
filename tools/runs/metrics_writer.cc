#include "tools/runs/metrics_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "core/log.h"
#include "core/process/process_limits.h"
#include "core/process/unix_seconds.h"
#include "tools/runs/run_file.h"
#include "tools/runs/run_scores.h"

namespace cortado::runs {

namespace {

std::string number(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Inf\"" : "\"-Inf\"";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 32) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string field(const char* name, const std::string& value) { return std::string(",\"") + name + "\":" + value; }

std::string outputs_field(const std::vector<Score>& scores) {
  std::string list;
  for (size_t i = 0; i < scores.size(); ++i) {
    std::string name = scores[i].name;
    for (size_t j = 0, same = 0; j < i; ++j)  // an index makes the keys of outputs with several elements unique
      if (scores[j].name == scores[i].name) name = scores[i].name + "[" + std::to_string(++same) + "]";
    list += (i ? "," : "") + json_text(name) + ":" + number(scores[i].value);
  }
  return field("outputs", "{" + list + "}");
}

/// Each score as [value, iteration].
std::string best_field(const std::vector<BestTestScore>& best) {
  std::string list;
  for (const BestTestScore& score : best)
    list += (list.empty() ? "" : ",") + json_text(score.name) + ":[" + number(score.value) + "," +
            std::to_string(score.iter) + "]";
  return field("best", "{" + list + "}");
}

/// Each score with the direction in which it is better: the only record of it.
std::string scores_field(const std::vector<TestScore>& scores) {
  std::string list;
  for (const TestScore& score : scores)
    list += (list.empty() ? "{\"name\":" : ",{\"name\":") + json_text(score.name) +
            field("best", json_text(direction_word(score.lower_is_better))) +
            (score.is_main ? field("main", "true") : "") + "}";
  return field("scores", "[" + list + "]");
}

/// Whether the file ends within a line, as after a killed run.
bool is_torn(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

MetricsWriter::MetricsWriter(const std::string& path)
    : MetricsWriter(path, Descriptor(path, O_RDWR | O_APPEND | O_CREAT, 0666)) {}

MetricsWriter::MetricsWriter(const std::string& path, Descriptor file) : path_(path), file_(std::move(file)) {
  const int error = !file_.ok() ? errno : is_torn(file_.fd()) ? append_line(file_.fd(), "\n") : 0;
  if (error != 0) throw Error(ExitCode::kIo, "cannot write metrics to " + path + ": " + std::strerror(error));
}

void MetricsWriter::write(const char* event, const Progress& progress, const std::string& more) {
  latest_ = progress;
  char head[96];
  std::snprintf(head, sizeof head, "{\"t\":%.6f,\"ev\":\"%s\",\"iter\":%lld", unix_seconds(), event,
                (long long)progress.iter);
  const std::string line = head + more + "}\n";
  const int error = append_line(file_.fd(), line);
  if (error == 0 || failed_) return;
  failed_ = true;
  log_warning() << "metrics are lost: cannot write to " << path_ << ": " << std::strerror(error);
}

void MetricsWriter::on_start(const Progress& progress, const std::vector<TestScore>& scores) {
  write("run_start", progress,
        field("schema", "1") + field("max_iter", std::to_string(progress.max_iter)) + scores_field(scores));
}

void MetricsWriter::on_resume(const Progress& progress, const std::string& state_path) {
  write("resume", progress, field("from", json_text(state_path)));
}

void MetricsWriter::on_display(const Progress& progress, const std::vector<Score>& outputs) {
  std::string more = field("loss", number(progress.smoothed_loss)) + field("lr", number(progress.rate));
  if (const auto pace = pace_.now(progress))
    more += field("img_s", number(pace->images_per_second)) + field("data_wait", number(pace->data_wait));
  if (const int64_t bytes = resident_bytes(); bytes > 0) more += field("rss", std::to_string(bytes));
  write("train", progress, more + outputs_field(outputs));
}

void MetricsWriter::on_test(const Progress& progress, int net, const std::vector<Score>& scores,
                            const std::vector<BestTestScore>& best) {
  write("test", progress, field("net", std::to_string(net)) + outputs_field(scores) + best_field(best));
}

void MetricsWriter::on_snapshot(const Progress& progress, const std::string& state_path) {
  write("snapshot", progress, field("path", json_text(state_path)));
}

void MetricsWriter::on_warning(const Progress& progress, const std::string& text) {
  write("warn", progress, field("text", json_text(text)));
}

void MetricsWriter::on_diverged(const Progress& progress, const std::string& text) {
  write("nan", progress, field("loss", number(progress.loss)) + field("text", json_text(text)));
}

void MetricsWriter::on_end(const Progress& progress, Outcome outcome) {
  std::string more = field("loss", number(progress.smoothed_loss));
  if (outcome == Outcome::kStoppedEarly) more += field("early", "true");
  write(outcome == Outcome::kFinished ? "run_end" : "stop", progress, more);
}

void MetricsWriter::write_error(const std::string& text) { write("error", latest_, field("text", json_text(text))); }

}  // namespace cortado::runs
