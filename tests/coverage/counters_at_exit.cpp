// Children of a simulation end by _exit(), which leaves what gcov counted in them unwritten. With LOCKSTEP_COVERAGE the
// linker sends every such call here (--wrap=_exit). What a signal ends is lost all the same.
extern "C" {
void __gcov_dump();
[[noreturn]] void __real__exit(int code);

[[noreturn]] void __wrap__exit(int code) {
  __gcov_dump();
  __real__exit(code);
}
}
