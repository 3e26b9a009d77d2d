#pragma once
// Random choices from a seed.
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace lockstep::tests {

class Draws {
 public:
  explicit Draws(unsigned seed) : generator_(seed) {}
  template <class Value>
  Value of(const std::vector<Value>& all) {
    return all[generator_() % all.size()];
  }
  std::string of(std::initializer_list<const char*> all) { return std::data(all)[generator_() % all.size()]; }
  int of(std::initializer_list<int> all) { return std::data(all)[generator_() % all.size()]; }
  bool one_in(unsigned n) { return generator_() % n == 0; }

 private:
  std::mt19937 generator_;
};

}  // namespace lockstep::tests
