#include "tests/ranks/probes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "core/files/file.h"
#include "core/process/program_path.h"

namespace cortado::ranks {

namespace {

std::string launcher_of(const std::string& engine) {
  if (engine == "openmpi") return "/usr/bin/mpirun.openmpi";
  return engine == "mpich" ? "/usr/bin/mpirun.mpich" : "";
}

/// Open MPI refuses to start as root without these variables; leaks of the libraries are ignored.
void prepare_environment(const std::vector<std::string>& variables) {
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
  for (const std::string& variable : variables) ::putenv(const_cast<char*>(variable.c_str()));
}

}  // namespace

std::string why_not(const std::string& engine) {
  if (engine == "shm") return "";
  if (companion_path("libcortado_" + engine + ".so").empty()) return "this build does not support " + engine;
  const std::string launcher = launcher_of(engine);
  return launcher.empty() || file_exists(launcher) ? "" : launcher + " does not exist";
}

std::vector<std::string> probe_command(const std::string& engine, int ranks, const std::string& action) {
  const std::string probe = join_path(folder_of(program_path()), "ranks_probe"), number = std::to_string(ranks);
  if (engine == "openmpi")
    return {launcher_of(engine),
            "-n",
            number,
            "--oversubscribe",
            "--mca",
            "mpi_yield_when_idle",
            "1",
            probe,
            engine,
            action};
  if (engine == "mpich") return {launcher_of(engine), "-n", number, probe, engine, action};
  return {probe, "launch", engine, number, action};
}

Probes::Probes(const std::vector<std::string>& command, const std::vector<std::string>& variables) {
  file_ = (std::filesystem::temp_directory_path() / "cortado-probes-XXXXXX").string();
  const int out = ::mkstemp(file_.data());
  pid_ = ::fork();
  if (pid_ != 0) {
    ::close(out);
    return;
  }
  prepare_environment(variables);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(words[0], words.data());
  ::_exit(127);
}

Probes::~Probes() {
  if (!exit_code_) {
    ::kill(pid_, SIGTERM);  // an MPI's launcher then ends its ranks
    if (!ended_within(10)) ::kill(pid_, SIGKILL);
    if (!exit_code_) ::waitpid(pid_, nullptr, 0);
  }
  ::unlink(file_.c_str());
}

std::optional<int> Probes::ended_within(int seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  while (!exit_code_ && std::chrono::steady_clock::now() < until) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_)
      exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    else
      ::usleep(5000);
  }
  return exit_code_;
}

std::string Probes::output() const { return read_file(file_); }

ProbeFolder::ProbeFolder() {
  path_ = (std::filesystem::temp_directory_path() / "cortado-ranks-test-XXXXXX").string();
  if (!::mkdtemp(path_.data())) ADD_FAILURE() << "no folder " << path_;
}

ProbeFolder::~ProbeFolder() { std::filesystem::remove_all(path_); }

}  // namespace cortado::ranks
