#include "studio/jobs.h"

#include <algorithm>
#include <chrono>
#include <regex>

#include "core/process/signal_waiter.h"

namespace cortado::studio {

namespace {

constexpr size_t kMaxAtOnce = 4, kMaxKept = 32, kMaxReported = 8000;
constexpr std::chrono::hours kLongest(24);

}  // namespace

struct Jobs::Job {
  int64_t id = 0;
  Work work;
  std::atomic<bool> cancelled = false;
  std::thread thread;

  mutable std::mutex mutex;                     // guards the following
  std::string state = "running", output, line;  // line: incomplete, without a line break yet
  int64_t counted = 0, total = 0, pass = 0;

  void append(std::string_view piece) {
    const std::lock_guard lock(mutex);
    line += piece;
    for (size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n')) {
      if (!is_progress(line.substr(0, end))) output += line.substr(0, end + 1);
      line.erase(0, end + 1);
    }
    if (line.size() > kMaxReported) output += std::exchange(line, {});
    if (output.size() > kMaxReported) output.erase(0, output.size() - kMaxReported);
  }
  /// Whether it is a log line of --progress. Takes its numbers.
  bool is_progress(const std::string& text) {
    static const std::regex form("I[0-9 :.]+ [a-z_]+[.]cc:[0-9]+\\] [a-z ]+: ([0-9]{1,15}) of ([0-9]{1,15})");
    std::smatch found;
    if (text.size() > 200 || !std::regex_match(text, found, form)) return false;
    const int64_t now = std::stoll(found[1]);
    pass += pass == 0 || now < counted;
    counted = now;
    total = std::stoll(found[2]);
    return true;
  }
  void end(const std::string& how) {
    const std::lock_guard lock(mutex);
    state = how;
  }
  bool is_running() const {
    const std::lock_guard lock(mutex);
    return state == "running";
  }
  Json json() const {
    const std::lock_guard lock(mutex);
    Json json = {{"id", id}, {"title", work.title}, {"state", state}, {"output", output + line}, {"progress", nullptr}};
    if (pass > 0) json["progress"] = {{"done", counted}, {"total", total}, {"pass", pass}};
    return json;
  }
  void run() {
    pid_t process = 0;
    ChildOptions options{.folder = work.folder, .time = kLongest, .cancelled = &cancelled};
    options.on_start = [&](pid_t started) { process = started; };
    options.on_err = [this](std::string_view piece) { append(piece); };
    try {
      const ChildResult result = run_child(work.words, options);
      if (result.code == 0) work.done(result);
      if (result.code != 0) work.clean_up(process);
      end(result.code == 0 ? "done" : "failed");
    } catch (const std::exception& error) {
      work.clean_up(process);
      append(error.what());
      end(cancelled ? "stopped" : "failed");
    }
  }
};

Jobs::~Jobs() {
  for (const auto& [id, job] : jobs_) job->cancelled = true;
  for (const auto& [id, job] : jobs_) job->thread.join();
}

int64_t Jobs::start(Work work) {
  const std::lock_guard lock(mutex_);
  const auto running = std::ranges::count_if(jobs_, [](const auto& one) { return one.second->is_running(); });
  if (size_t(running) >= kMaxAtOnce)
    throw http::RequestError(http::Refusal::kBusy, "four jobs are running already; try again later");
  while (jobs_.size() >= kMaxKept) {
    const auto old = std::ranges::find_if(jobs_, [](const auto& one) { return !one.second->is_running(); });
    old->second->thread.join();
    jobs_.erase(old);
  }
  const auto job = std::make_shared<Job>();
  job->id = ++last_;
  job->work = std::move(work);
  const SignalsBlocked blocked;
  job->thread = std::thread([job = job.get()] { job->run(); });
  jobs_[job->id] = job;
  return job->id;
}

std::shared_ptr<Jobs::Job> Jobs::find(int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) throw http::RequestError(http::Refusal::kNotFound, "no such job");
  return found->second;
}

Json Jobs::json(int64_t id) const { return find(id)->json(); }

Json Jobs::json_of_all() const {
  const std::lock_guard lock(mutex_);
  Json all = Json::array();
  for (const auto& [id, job] : jobs_) all.push_back(job->json());
  return all;
}

void Jobs::stop(int64_t id) { find(id)->cancelled = true; }

}  // namespace cortado::studio
