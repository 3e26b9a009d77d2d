// fuzz_readers READER|all|logs|engine|sim|launch [FIRST [COUNT]]: reads mutated inputs FIRST, FIRST + 1, ... of each
// corpus; without FIRST the runs of the test suite, truncated files and inputs from 1 on. Prints a line per reader.
// Keeps inputs that break the law as fuzz-READER-NUMBER, and exits with 1. fuzz_readers READER FILE...: reads files.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "engine/base/atomic_file.hpp"
#include "engine/base/text.hpp"
#include "tests/fuzz/mutator.hpp"
#include "tests/fuzz/reader.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::fuzz;

constexpr unsigned kLongest_s = 20;                        // for one input, on a machine with other load
constexpr std::size_t kMostMemory = std::size_t{2} << 30;  // for the process
constexpr int kUsualRuns = 1500;                           // per reader in the test suite; 15 s of a core in total
constexpr int kCuts = 40;                                  // per file of a corpus
constexpr int kMostKept = 20;                              // inputs that break the law, per reader

// Name under which a crash keeps the input; set before each input.
std::string kept_name;
std::string input;

void keep() {
  std::ofstream(kept_name, std::ios::binary) << input;
}

// Generally unsafe in a signal handler, but the process ends in any case.
void crashed(int signal) {
  std::fprintf(stderr, "%s: signal %d\n", kept_name.c_str(), signal);
  keep();
  _exit(1);
}

void catch_crashes() {
  static char stack[1 << 16];
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = crashed;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM}) sigaction(signal, &action, nullptr);
}

#if defined(__has_feature)  // clang's way to say it
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOCKSTEP_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOCKSTEP_SANITIZED
#endif
#ifdef LOCKSTEP_SANITIZED
void limit_memory() {}  // shadow memory is larger than any limit
#else
void limit_memory() {
  const rlimit limit{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &limit);
}
#endif

Verdict judged(const Reader& reader, const std::string& content, const std::string& name) {
  kept_name = name;
  input = content;
  alarm(kLongest_s);
  const Verdict verdict = judge(reader, content);
  alarm(0);
  return verdict;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Tests truncated files, as a full disk or a broken download leaves them. Returns the number that break the law. The
// beginning of a JSON value is no JSON value and must be refused; in other formats it may be a valid shorter file.
int run_cut(const Reader& reader, const std::vector<std::string>& corpus) {
  int broken = 0;
  for (std::size_t i = 0; i < corpus.size(); ++i)
    for (std::size_t cut = 0; cut < kCuts; ++cut) {
      const std::string name = "fuzz-" + reader.name + "-cut-" + std::to_string(i) + "-" + std::to_string(cut);
      Verdict verdict = judged(reader, corpus[i].substr(0, corpus[i].size() * cut / kCuts), name);
      if (verdict.is_read && ends_with(reader.corpus[i], ".json")) verdict.broken = "half a JSON value is read";
      if (verdict.broken.empty()) continue;
      keep();
      ++broken;
      std::printf("%s: %s: %s\n", name.c_str(), verdict.broken.c_str(), in_quotes(verdict.message).c_str());
    }
  return broken;
}

int run(const Reader& reader, std::uint64_t first, int count) {
  const std::vector<std::string> corpus = corpus_of(reader);
  int read = 0, broken = run_cut(reader, corpus);
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < corpus.size(); ++i)
    if (const Verdict verdict = judged(reader, corpus[i], "fuzz-" + reader.name + "-corpus"); !verdict.is_read) {
      std::printf("%s: %s of the corpus is refused: %s\n", reader.name.c_str(), reader.corpus[i].c_str(),
                  verdict.message.c_str());
      ++broken;
    }
  for (int i = 0; i < count && broken < kMostKept; ++i) {
    const std::uint64_t number = first + static_cast<std::uint64_t>(i);
    const Verdict verdict =
        judged(reader, mutated(corpus, number), "fuzz-" + reader.name + "-" + std::to_string(number));
    read += verdict.is_read ? 1 : 0;
    if (verdict.broken.empty() || !kinds.insert(verdict.broken + verdict.message.substr(0, 60)).second) continue;
    keep();
    ++broken;
    std::printf("%s: %s: %s\n", kept_name.c_str(), verdict.broken.c_str(), in_quotes(verdict.message).c_str());
  }
  std::printf("%-16s %8d inputs, %8d read, %8d refused, %3d against the law\n", reader.name.c_str(), count, read,
              count - read - broken, broken);
  std::fflush(stdout);
  return broken > 0 ? 1 : 0;
}

int judge_files(const Reader& reader, int count, char** files) {
  int code = 0;
  for (int i = 0; i < count; ++i) {
    const Verdict verdict = judged(reader, read_file(files[i]), files[i]);
    std::printf("%s: %s\n", files[i], verdict.is_read ? "read" : verdict.message.c_str());
    if (verdict.broken.empty()) continue;
    std::printf("%s: against the law: %s\n", files[i], verdict.broken.c_str());
    code = 1;
  }
  return code;
}

std::vector<Reader> readers_of(const std::string& which) {
  if (which == "all") return all_readers();
  if (which == "logs") return readers_of_logs();
  if (which == "engine") return readers_of_engine();
  if (which == "sim") return readers_of_sim();
  if (which == "launch") return readers_of_launch();
  return {reader_named(which)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: fuzz_readers READER|all|logs|engine|sim|launch [FIRST [COUNT]] | READER FILE...\n", stderr);
    return 2;
  }
  try {
    const std::vector<Reader> readers = readers_of(argv[1]);
    limit_memory();
    catch_crashes();
    const bool has_files = argc > 2 && std::string(argv[2]).find_first_not_of("0123456789") != std::string::npos;
    if (has_files) return judge_files(readers.front(), argc - 2, argv + 2);
    const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    int code = 0;
    for (const Reader& reader : readers)
      code = std::max(code, run(reader, first, argc > 3 ? std::atoi(argv[3]) : kUsualRuns));
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz_readers: %s\n", error.what());
    return 2;
  }
}
