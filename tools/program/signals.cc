#include "tools/program/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string_view>

#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

Requests requests{kRequestNothing};
volatile std::sig_atomic_t stop_signal = 0;
volatile std::sig_atomic_t interrupt_effect = 0;
volatile std::sig_atomic_t hangup_effect = 0;
volatile std::sig_atomic_t training = 0;
volatile std::sig_atomic_t warned = 0;  // that the snapshot is being written

/// Async-signal-safe.
void write_to_terminal(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // without a reader the text is dropped
}

void act(int signal, SignalEffect effect) {
  if (effect == SignalEffect::kSnapshot) requests.fetch_or(kRequestSnapshot);
  if (effect != SignalEffect::kStop) return;
  write_to_terminal(progress_on_screen() ? kEraseProgress : "\n");
  const bool is_saving = stop_signal != 0 && (requests.load() & kRequestStop) == 0;  // the solver took the request
  if (is_saving && !warned) {
    warned = 1;
    return write_to_terminal("the snapshot is being written; a third signal stops without it\n");
  }
  if (stop_signal != 0 || !training) _exit(128 + signal);
  stop_signal = signal;
  requests.fetch_or(kRequestStop);
  write_to_terminal("stopping after this iteration, with a snapshot; a second signal stops at once\n");
}

void handle(int signal) {
  const int saved_errno = errno;  // write() fails where standard error has no reader
  const bool always_stops = signal == SIGTERM || signal == SIGUSR1;
  const int effect = signal == SIGINT ? interrupt_effect : hangup_effect;
  act(signal, always_stops ? SignalEffect::kStop : SignalEffect(effect));
  errno = saved_errno;
}

/// Handlers run on a stack of their own. oneDNN's matrix products for AVX2 let the stack pointer point to a small block
/// of the heap: a handler's frame there would overwrite the memory below it.
void use_own_stack() {
  static std::byte memory[1 << 16];  // AMX registers alone, which are saved there, take 8 KiB
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
  sigaltstack(&stack, nullptr);
}

}  // namespace

SignalEffect signal_effect_of(const std::string& name) {
  return name == "stop" ? SignalEffect::kStop : name == "snapshot" ? SignalEffect::kSnapshot : SignalEffect::kNone;
}

Requests& catch_signals(SignalEffect on_interrupt, SignalEffect on_hangup) {
  interrupt_effect = int(on_interrupt);
  hangup_effect = int(on_hangup);
  use_own_stack();
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  return requests;
}

void stop_with_snapshot() { training = 1; }

int stop_exit_code() { return stop_signal == 0 ? 0 : 128 + stop_signal; }

}  // namespace cortado::tools
