// Trainings: start, stop, write a snapshot, resume. Each is a process in its own session, which outlives the studio;
// its state is in its run folder.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <shared_mutex>
#include <thread>

#include "core/error.h"
#include "core/files/file.h"
#include "studio/bin.h"
#include "studio/preparations.h"
#include "studio/workplace.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_list.h"
#include "tools/runs/run_record.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr std::chrono::milliseconds kTrainingsLook(50);
constexpr std::chrono::seconds kStart(300), kStop(300);
constexpr int64_t kMaxLog = 1 << 20;
constexpr const char* kLogs = ".studio";  // hidden; output of trainings outside of their run folders

[[noreturn]] void throw_unsignalled() {
  throw RequestError(Refusal::kInvalid, std::string("cannot signal the training: ") + std::strerror(errno));
}

/// The started processes, so that they are reaped, and those that are being stopped.
class Children {
 public:
  /// Stops the training with a snapshot, and waits for its end. Stops of one training at the same time are one: a
  /// second signal would end it without the snapshot.
  void stop(const runs::RunPaths& paths, pid_t process) {
    std::shared_ptr<void> first;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_.insert(process).second)
        first = {this, [process](void* children) { static_cast<Children*>(children)->stopped(process); }};
    }
    if (first && ::kill(process, SIGTERM) != 0) throw_unsignalled();
    const auto end = std::chrono::steady_clock::now() + kStop;
    while (runs::training_process(paths) == process) {
      if (std::chrono::steady_clock::now() > end)
        throw RequestError(Refusal::kLate,
                           "the training did not stop within " + std::to_string(kStop.count()) + " seconds");
      std::this_thread::sleep_for(kTrainingsLook);
    }
  }

  void add(pid_t process) {
    const std::lock_guard lock(mutex_);
    std::erase_if(processes_, [](pid_t old) { return ended_child(old) >= 0; });
    processes_.push_back(process);
  }

 private:
  void stopped(pid_t process) {
    const std::lock_guard lock(mutex_);
    stopping_.erase(process);
  }

  std::mutex mutex_;
  std::set<pid_t> stopping_;
  std::vector<pid_t> processes_;
};

runs::RunSummary run_at(const Workplace& place, const std::string& path) {
  if (path.empty() || !place.folder.has(path + "/run.json"))
    throw RequestError(Refusal::kNotFound, "'" + path + "' is not a run");
  return runs::read_run(place.folder.at(path));
}

/// Whether the run's record has this start.
bool is_recorded(const runs::RunPaths& paths, pid_t process) {
  if (!runs::is_run(paths.folder)) return false;
  const runs::RunRecord record = runs::read_record(paths.record);
  return !record.starts.empty() && record.starts.back().process == process;
}

/// Starts `cortado train` and waits until it holds the run's lock and has recorded its start, or has exited.
Json start(Workplace& place, Children& children, const std::vector<std::string>& words, const std::string& path) {
  place.folder.make(kLogs);
  const std::string log = std::string(kLogs) + "/" + file_name_of(path) + ".log", whole = place.folder.at(log);
  [[maybe_unused]] const int emptied = ::truncate(whole.c_str(), 0);
  std::vector<std::string> all = {place.cortado, "train"};
  all.insert(all.end(), words.begin(), words.end());
  const runs::RunPaths paths(place.folder.at(path));
  const pid_t process = start_child(all, place.folder.root(), whole);
  const auto end = std::chrono::steady_clock::now() + kStart;
  while (std::chrono::steady_clock::now() < end) {
    if (runs::training_process(paths) == process && is_recorded(paths, process)) {
      children.add(process);
      return {{"path", path}, {"process", process}};
    }
    if (const int code = ended_child(process); code >= 0) {
      if (code == 0) return {{"path", path}};  // it has finished already
      throw RequestError(Refusal::kInvalid, plain_message(place.folder.read_part(log, 0, kMaxLog)));
    }
    std::this_thread::sleep_for(kTrainingsLook);
  }
  children.add(process);
  throw RequestError(Refusal::kLate,
                     "the training did not start within " + std::to_string(kStart.count()) + " seconds");
}

void add_settings(const Json& body, std::vector<std::string>& words) {
  for (const std::string& setting : texts_in(body, "set")) {
    if (setting.find('=') == std::string::npos)
      throw RequestError(Refusal::kInvalid, "set must be FIELD=VALUE, not '" + setting + "'");
    words.push_back("--set=" + setting);
  }
}

/// Removes what a training left that has failed before its record was written. Other files go to the bin.
void free_name_of_run(const Folder& folder, const std::string& path) {
  if (!folder.has(path) || folder.has(path + "/run.json")) return;
  std::error_code ignored;
  for (const char* name : {"/lock", "/log.txt"})
    if (folder.has_file(path + name)) folder.remove(path + name);
  for (const std::string& empty : {path + "/snapshots", path}) std::filesystem::remove(folder.at(empty), ignored);
  if (folder.has(path)) move_to_bin(folder, path);
}

Json begin(Workplace& place, Children& children, const Request& request) {
  const Json body = request.body();
  const std::string path = "runs/" + checked_name(text_in(body, "name")), solver = text_in(body, "solver");
  if (!place.folder.has(solver)) throw RequestError(Refusal::kNotFound, solver + ": no such file");
  const auto claim = place.claims.claim(path);
  if (place.folder.has(path)) throw RequestError(Refusal::kInvalid, "run " + path + " exists already");
  const std::shared_lock starting(place.starting);
  place.folder.make("runs");
  std::vector<std::string> words = {"--solver=" + solver, "--run=" + path};
  if (const std::string weights = text_in(body, "weights"); !weights.empty()) {
    place.folder.file_at(weights);
    words.push_back("--weights=" + weights);
  }
  if (const double threads = number_in(body, "threads", 0); threads >= 1)
    words.push_back("--threads=" + std::to_string(int(threads)));
  add_settings(body, words);
  const AcceptedFiles accepted(place, solver);
  try {
    return start(place, children, words, path);
  } catch (const RequestError& error) {
    if (error.why() != Refusal::kLate) {
      accepted.undo();
      free_name_of_run(place.folder, path);
    }
    throw;
  }
}

/// The process that trains the run, on this machine.
pid_t process_of(const runs::RunSummary& run) {
  if (run.process < 0) throw RequestError(Refusal::kInvalid, "the training runs on another machine");
  if (run.process == 0) throw RequestError(Refusal::kInvalid, "the training is not running");
  return run.process;
}

void request_snapshot(const Workplace& place, const std::string& path) {
  if (::kill(process_of(run_at(place, path)), SIGHUP) != 0) throw_unsignalled();
}

void stop(const Workplace& place, Children& children, const std::string& path) {
  children.stop(runs::RunPaths(place.folder.at(path)), process_of(run_at(place, path)));
}

/// Another request may have stopped it meanwhile.
void stop_if_running(const Workplace& place, Children& children, const std::string& path) {
  if (run_at(place, path).process != 0) stop(place, children, path);
}

/// Resumes with changed settings. A running training is stopped first, but only if the settings are valid.
Json resume(Workplace& place, Children& children, const Request& request) {
  const Json body = request.body();
  const std::string path = text_in(body, "path");
  const bool is_running = run_at(place, path).process != 0;
  const auto claim = place.claims.claim(path);
  const std::shared_lock starting(place.starting);
  std::vector<std::string> words = {"--resume=" + place.folder.at(path)},
                           trial = {"check", place.folder.at(path + "/solver.prototxt"), "--no-data"};
  add_settings(body, words);
  add_settings(body, trial);
  place.run(trial);
  if (is_running) stop_if_running(place, children, path);
  return start(place, children, words, path);
}

}  // namespace

Routes training_routes(Workplace& place) {
  const auto children = std::make_shared<Children>();
  return {
      {"POST", "/api/runs",
       [&place, children](const Request& request) { return json_reply(begin(place, *children, request)); }},
      {"POST", "/api/run/stop",
       [&place, children](const Request& request) {
         stop(place, *children, text_in(request.body(), "path"));
         return json_reply(Json::object());
       }},
      {"POST", "/api/run/snapshot",
       [&place](const Request& request) {
         request_snapshot(place, text_in(request.body(), "path"));
         return json_reply(Json::object());
       }},
      {"POST", "/api/run/resume",
       [&place, children](const Request& request) { return json_reply(resume(place, *children, request)); }},
  };
}

}  // namespace cortado::studio
