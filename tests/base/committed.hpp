#pragma once
// Files of the repository that are derived from the sources. With LOCKSTEP_UPDATE=1, their tests rewrite them.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/base/atomic_file.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {

/// Checks that the file `path` of the repository contains `wanted`, or writes it. A missing file counts as empty.
inline void check_committed(const std::string& path, const std::string& wanted) {
  const std::string whole = LOCKSTEP_SOURCE_DIR "/" + path;
  const auto content = [&] { return std::filesystem::exists(whole) ? read_file(whole) : std::string(); };
  if (std::getenv("LOCKSTEP_UPDATE") != nullptr && content() != wanted) write_file_atomically(whole, wanted);
  INFO(path << " is not what follows from the sources; LOCKSTEP_UPDATE=1 in this test's environment writes it anew");
  CHECK(content() == wanted);
}

/// Like check_committed(), for the part of a document between "<!-- fields: NAME -->" and "<!-- end -->".
inline void check_committed_table(const std::string& document, const std::string& name, const std::string& table) {
  const std::string begin = "<!-- fields: " + name + " -->\n", old = read_file(LOCKSTEP_SOURCE_DIR "/" + document);
  const std::size_t from = old.find(begin), to = old.find("<!-- end -->", from);
  REQUIRE(to != std::string::npos);
  check_committed(document, old.substr(0, from + begin.size()) + "\n" + table + "\n" + old.substr(to));
}

}  // namespace lockstep::tests
