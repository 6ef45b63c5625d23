// Loads, and that is all that is asked of it.
extern "C" __attribute__((visibility("default"))) const char* fake_torch() { return "2.99.1"; }
