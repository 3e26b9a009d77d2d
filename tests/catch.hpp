#pragma once
// Catch2 2.13 (Debian 12) and 3.x (Debian 13) behind one include. Contains: a matcher of texts.
#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto Contains(const std::string& part) {
  return Catch::Matchers::ContainsSubstring(part);
}
#else
#include <catch2/catch.hpp>
using Catch::Contains;
#endif
