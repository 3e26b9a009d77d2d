// Children of a simulation end by _exit(), which leaves what was counted in them unwritten. With LOCKSTEP_COVERAGE the
// linker sends every such call here (--wrap=_exit). What a signal ends is lost all the same.
extern "C" {
#ifdef __clang__
int __llvm_profile_write_file(void);
#else
void __gcov_dump();
#endif
[[noreturn]] void __real__exit(int code);

[[noreturn]] void __wrap__exit(int code) {
#ifdef __clang__
  __llvm_profile_write_file();
#else
  __gcov_dump();
#endif
  __real__exit(code);
}
}
