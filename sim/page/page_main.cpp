// The predictor's interface for the page: api::answer() on JSON texts. Texts stay valid until the next call.
#include <emscripten.h>

#include <memory>
#include <string>

#include "sim/api/answers.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/kernel/kernel_files.hpp"

namespace {

using namespace lockstep;

std::unique_ptr<const sim::Catalogue> catalogue;
std::string returned;

/// Returns an error as "!" + its message, because no JSON text begins with "!".
template <class Work>
const char* text_or_error(const Work& work) {
  try {
    returned = work();
  } catch (const std::exception& error) {
    returned = std::string("!") + error.what();
  }
  return returned.c_str();
}

}  // namespace

extern "C" {

/// Reads the catalogue's files, which the page has written to /scenarios/catalogue.
EMSCRIPTEN_KEEPALIVE const char* load_catalogue() {
  return text_or_error([] {
    catalogue = std::make_unique<const sim::Catalogue>(sim::load_catalogue(sim::default_catalogue_folder()));
    return std::string();
  });
}

/// For the question "job": the bytes that `simulate job --json` writes.
EMSCRIPTEN_KEEPALIVE const char* answer_question(const char* question, const char* options) {
  return text_or_error([&] { return sim::api::answer(question, Json::parse(options), *catalogue).dump(2) + "\n"; });
}
}
