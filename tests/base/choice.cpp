#include "engine/base/choice.hpp"

#include "tests/catch.hpp"

namespace lockstep::tests {

enum class Fruit { apple, pear };

inline const Choices<Fruit>& choices_of(Fruit) {
  static const Choices<Fruit> all{{Fruit::apple, "apple", {"pippin"}}, {Fruit::pear, "pear"}};
  return all;
}

TEST_CASE("Choices are read by names and aliases, in words in any case, and written by their names") {
  CHECK(find_choice<Fruit>("pippin") == Fruit::apple);
  CHECK_FALSE(find_choice<Fruit>("PEAR"));
  CHECK(find_choice_in_any_case<Fruit>("PEAR") == Fruit::pear);
  CHECK(find_choice_in_any_case<Fruit>("Pippin") == Fruit::apple);
  CHECK_FALSE(find_choice_in_any_case<Fruit>("pears"));
  CHECK(name_of(Fruit::apple) == "apple");
  CHECK_THROWS_WITH(choice_named<Fruit>("plum", "--fruit"), Contains("--fruit \"plum\"") && Contains("apple, pear"));
}

}  // namespace lockstep::tests
