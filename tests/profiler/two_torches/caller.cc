// Stands in for what is linked against a libtorch, an extension module of Python's for one.
extern "C" void zero_grad(int* self, bool) __asm__("_ZN5torch5optim9Optimizer9zero_gradEb");

extern "C" __attribute__((visibility("default"))) void call_zero_grad(int* self) {
  zero_grad(self, true);
  if (*self == 0) *self = -1;  // not called; and so the call above is no jump
}
