#pragma once
// Every reader of files, as what a fuzzer calls. The law: a reader either reads or throws InputError whose text begins
// with the file's name (printing.hpp makes one line of it); and every number that leaves it is finite.
#include <functional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::fuzz {

struct Reader {
  std::string name;                              ///< "nvbandwidth"
  std::function<Json(const std::string&)> read;  ///< of a file's content: what programs go on with
  std::string file;                              ///< begins every message
  std::vector<std::string> corpus;               ///< files of this repository that it reads
};

/// Lists readers of logs (calib's importers), of files of engine and calib, of sim's files, and of launch files.
std::vector<Reader> readers_of_logs();
std::vector<Reader> readers_of_engine();
std::vector<Reader> readers_of_sim();
std::vector<Reader> readers_of_launch();
std::vector<Reader> all_readers();
/// Throws std::invalid_argument naming the readers that there are.
Reader reader_named(const std::string& name);

struct Verdict {
  bool is_read = false;
  std::string message;  ///< of a refusal
  std::string broken;   ///< how the law was broken; empty: it was kept
};
Verdict judge(const Reader& reader, const std::string& content);

/// Reads the contents of the reader's corpus.
std::vector<std::string> corpus_of(const Reader& reader);

}  // namespace lockstep::fuzz
