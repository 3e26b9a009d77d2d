#include "engine/base/interrupt.hpp"

#include <unistd.h>

#include <csignal>

namespace lockstep {
namespace {

volatile std::sig_atomic_t g_signal = 0;
std::string g_message;  // for say_and_end(); not changed while it may run
pid_t g_process = 0;

extern "C" void note_signal(int signal) {
  g_signal = signal;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

// Calls only functions that are safe in a signal handler.
extern "C" void say_and_end(int signal) {
  if (getpid() == g_process) (void)!write(STDERR_FILENO, g_message.data(), g_message.size());
  std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
}

}  // namespace

void say_on_interruption(const std::string& message) {
  g_message = message;
  g_process = getpid();
  std::signal(SIGINT, say_and_end);
  std::signal(SIGTERM, say_and_end);
}

void note_interruptions() {
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

int interruption() {
  return g_signal;
}

}  // namespace lockstep
