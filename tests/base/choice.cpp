#include "engine/base/choice.hpp"

#include "tests/catch.hpp"

namespace lockstep::tests {

enum class Fruit { apple, pear };

inline const Choices<Fruit>& choices_of(Fruit) {
  static const Choices<Fruit> all{{Fruit::apple, "apple", {"pippin"}}, {Fruit::pear, "pear"}};
  return all;
}

TEST_CASE("Choices are read by names and aliases, in words with case and signs aside, and written by their names") {
  CHECK(find_choice<Fruit>("pippin") == Fruit::apple);
  CHECK_FALSE(find_choice<Fruit>("PEAR"));
  CHECK(find_choice_in_words<Fruit>("PEAR") == Fruit::pear);
  CHECK(find_choice_in_words<Fruit>("Pip-pin") == Fruit::apple);
  CHECK_FALSE(find_choice_in_words<Fruit>("pears"));
  CHECK_FALSE(find_choice_in_words<Fruit>(""));
  CHECK_FALSE(
      find_choice_in_words<Fruit>("p\xc3\xa9"
                                  "ear"));
  CHECK(name_of(Fruit::apple) == "apple");
  CHECK_THROWS_WITH(choice_named<Fruit>("plum", "--fruit"), Contains("--fruit \"plum\"") && Contains("apple, pear"));
}

}  // namespace lockstep::tests
