#include "studio/jobs.h"

#include <algorithm>
#include <chrono>

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

  mutable std::mutex mutex;  // guards the following
  std::string state = "running", output;

  void append(std::string_view piece) {
    const std::lock_guard lock(mutex);
    output += piece;
    if (output.size() > kMaxReported) output.erase(0, output.size() - kMaxReported);
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
    return {{"id", id}, {"title", work.title}, {"state", state}, {"output", output}};
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
