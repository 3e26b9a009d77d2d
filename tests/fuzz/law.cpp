#include <cmath>
#include <stdexcept>

#include "engine/base/atomic_file.hpp"
#include "engine/base/printing.hpp"
#include "engine/base/text.hpp"
#include "tests/fuzz/reader.hpp"

namespace lockstep::fuzz {
namespace {

// Returns the pointer of a number that is not finite; empty: all are.
std::string not_finite(const Json& json, const std::string& pointer = "") {
  if (json.is_number_float() && !std::isfinite(json.get<double>())) return pointer.empty() ? "/" : pointer;
  if (!json.is_structured()) return "";
  for (const auto& [key, value] : json.items())
    if (const std::string found = not_finite(value, pointer + "/" + key); !found.empty()) return found;
  return "";
}

std::string wrong_with(const std::string& message, const std::string& content, const std::string& file) {
  const auto is_foreign = [](const std::string& text) { return text.find("[json.exception") != std::string::npos; };
  if (message.compare(0, file.size(), file) != 0) return "the message does not begin with the file's name";
  // Messages may repeat text from the input: libFuzzer takes such words from here into its inputs.
  if (is_foreign(message) && !is_foreign(content)) return "the message is the JSON library's";
  return "";
}

}  // namespace

Verdict judge(const Reader& reader, const std::string& content) {
  Verdict verdict;
  try {
    const Json left = reader.read(content);
    verdict.is_read = true;
    if (const std::string place = not_finite(left); !place.empty()) verdict.broken = place + " is not finite";
  } catch (const InputError& error) {
    verdict.message = message_of(error);
    verdict.broken = wrong_with(verdict.message, content, reader.file);
  } catch (const std::exception& error) {
    verdict.message = error.what();
    verdict.broken = "another exception than InputError";
  }
  return verdict;
}

#ifndef LOCKSTEP_WITH_SIM
std::vector<Reader> readers_of_sim() {
  return {};
}
std::vector<Reader> readers_of_launch() {
  return {};
}
#endif

std::vector<Reader> all_readers() {
  std::vector<Reader> all = readers_of_logs();
  for (const auto& more : {readers_of_engine(), readers_of_sim(), readers_of_launch()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

Reader reader_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Reader& reader : all_readers()) {
    if (reader.name == name) return reader;
    names.push_back(reader.name);
  }
  throw std::invalid_argument("no reader \"" + name + "\"; allowed: " + joined(names));
}

std::vector<std::string> corpus_of(const Reader& reader) {
  std::vector<std::string> contents;
  for (const std::string& file : reader.corpus) contents.push_back(read_file(LOCKSTEP_SOURCE_DIR "/" + file));
  return contents;
}

}  // namespace lockstep::fuzz
