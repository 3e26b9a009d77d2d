// Compares the table of optimizers with the arrays in their formulae.
#include "engine/model/optimizer.hpp"

#include "tests/catch.hpp"

namespace lockstep::model {

TEST_CASE("An update reads and writes all of its state and the weights, and reads the gradients") {
  for (const Choice<Optimizer>& choice : choices_of(Optimizer())) {
    INFO(choice.name);
    const UpdateArrays arrays = update_arrays(choice.value);
    CHECK(arrays.read >= arrays.state + 2);
    CHECK(arrays.written >= arrays.state + 1);
    CHECK(arrays.has_norms() == (choice.name == "lars" || choice.name == "lamb" || choice.name == "adafactor"));
  }
}

TEST_CASE("Passes of updates by hand") {
  CHECK(update_arrays(Optimizer::sgd).passes() == 3);
  CHECK(update_arrays(Optimizer::momentum).passes() == 5);
  CHECK(update_arrays(Optimizer::lars).passes() == 7);
  CHECK(update_arrays(Optimizer::adam).passes() == 7);
  // |g|, |w|; 4 read and 3 written; |u|; 2 read and 1 written.
  CHECK(update_arrays(Optimizer::lamb).passes() == 13);
  // g for sums of rows and columns, the size of the step, |w|; g and w read, w written.
  CHECK(update_arrays(Optimizer::adafactor).passes() == 6);
  CHECK(update_arrays(Optimizer::adafactor).state == 0);
  CHECK(update_arrays(Optimizer::sgd).state == 0);
  CHECK(update_arrays(Optimizer::momentum).state == 1);
  CHECK(update_arrays(Optimizer::lars).state == 1);
  CHECK(update_arrays(Optimizer::adam).state == 2);
  CHECK(update_arrays(Optimizer::lamb).state == 2);
}

}  // namespace lockstep::model
