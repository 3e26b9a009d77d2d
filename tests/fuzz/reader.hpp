#pragma once
// Every reader of files, in the form that a fuzzer calls. The law: a reader either succeeds or throws InputError with
// the file's name at its beginning (printing.hpp makes one line of it), and every number that it returns is finite.
#include <functional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::fuzz {

struct Reader {
  std::string name;                              ///< such as "nvbandwidth"
  std::function<Json(const std::string&)> read;  ///< reads a file's content; returns what programs use
  std::string file;                              ///< name at the beginning of every message
  std::vector<std::string> corpus;               ///< files of this repository that it can read
};

/// Lists readers of logs (calib's importers), of files of engine and calib, of sim's files, and of launch files.
std::vector<Reader> readers_of_logs();
std::vector<Reader> readers_of_engine();
std::vector<Reader> readers_of_sim();
std::vector<Reader> readers_of_launch();
std::vector<Reader> all_readers();
/// Throws std::invalid_argument with the names of all readers.
Reader reader_named(const std::string& name);

struct Verdict {
  bool is_read = false;
  std::string message;  ///< message of a refusal
  std::string broken;   ///< how the law was broken; empty: it was not
};
Verdict judge(const Reader& reader, const std::string& content);

/// Reads the contents of the reader's corpus.
std::vector<std::string> corpus_of(const Reader& reader);

}  // namespace lockstep::fuzz
