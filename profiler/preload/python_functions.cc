// The marks of the C interface as built-in functions of CPython. A call through ctypes takes about
// 0.5 µs, and several with cold caches, which is the case once per step. The program waits during
// that time, and it lies outside the marks of the wait. A call of a built-in function takes a tenth
// of it.
//
// Does not use Python's headers: all functions are in its stable ABI (PEP 384), the same in every
// version, and are found by name in the process.
#include <dlfcn.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "profiler/visibility.h"
#include "stepscope/c_api.h"

namespace {

using Object = void;  // PyObject
using Function = Object* (*)(Object* self, Object* argument);

// PyMethodDef.
struct Method {
  const char* name;
  Function function;
  int flags;
  const char* doc;
};
using FunctionWithCount = Object* (*)(Object* self, Object* const* arguments, ssize_t count);
// As PyMethodDef holds functions whatever they take. (Through void (*)(), as compilers want it.)
Function with_count(FunctionWithCount function) {
  return reinterpret_cast<Function>(reinterpret_cast<void (*)()>(function));
}
constexpr int kOneArgument = 0x0008;  // METH_O
constexpr int kArguments = 0x0080;    // METH_FASTCALL

// The functions of the interpreter in this process.
class Interpreter {
 public:
  int (*as_bytes)(Object*, char** data, ssize_t* size) = nullptr;  // 0, or raises TypeError
  const char* (*as_utf8)(Object*, ssize_t* size) = nullptr;        // null, and raises: not a str
  Object* (*make_bytes)(const char* data, ssize_t size) = nullptr;
  long (*as_long)(Object*) = nullptr;  // -1, and raises TypeError
  Object* (*make_function)(Method*, Object* self, Object* module) = nullptr;
  void (*hold)(Object*) = nullptr;     // adds a reference
  void (*release)(Object*) = nullptr;  // removes a reference
  Object* (*make_long)(long) = nullptr;
  Object* (*call)(Object*, Object*, ...) = nullptr;  // takes objects, up to a null
  Object* (*call_with)(Object*, Object* tuple, Object* dict) = nullptr;
  void (*clear_error)() = nullptr;
  ssize_t (*size)(Object*) = nullptr;                // of a tuple or dict; -1, and raises
  Object* (*type_of)(Object*) = nullptr;             // a new reference
  Object* (*attribute)(Object*, Object*) = nullptr;  // a new reference; null, and raises
  Object* (*make_interned)(const char*) = nullptr;
  int (*call_later)(int (*)(void*), void*) = nullptr;  // runs soon, on the main thread
  Object* none = nullptr;

  [[nodiscard]] bool is_there() const { return is_there_; }

  static const Interpreter& get() {
    static const Interpreter interpreter;
    return interpreter;
  }

 private:
  Interpreter() {
    find(as_bytes, "PyBytes_AsStringAndSize");
    find(as_utf8, "PyUnicode_AsUTF8AndSize");
    find(make_bytes, "PyBytes_FromStringAndSize");
    find(as_long, "PyLong_AsLong");
    find(make_function, "PyCFunction_NewEx");
    find(hold, "Py_IncRef");
    find(release, "Py_DecRef");
    find(make_long, "PyLong_FromLong");
    find(call, "PyObject_CallFunctionObjArgs");
    find(call_with, "PyObject_Call");
    find(clear_error, "PyErr_Clear");
    find(size, "PyObject_Size");
    find(type_of, "PyObject_Type");
    find(attribute, "PyObject_GetAttr");
    find(make_interned, "PyUnicode_InternFromString");
    find(call_later, "Py_AddPendingCall");
    find(none, "_Py_NoneStruct");
  }

  template <typename Pointer>
  void find(Pointer& pointer, const char* name) {
    pointer = reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
    is_there_ = is_there_ && pointer != nullptr;
  }

  bool is_there_ = true;
};

// Takes bytes (a label), returns bytes (an open phase). Anything else is a TypeError.
template <stepscope_phase (*Begin)(const char*, size_t)>
STEPSCOPE_HOT Object* begin(Object*, Object* label) {
  const Interpreter& python = Interpreter::get();
  char* text = nullptr;
  ssize_t length = 0;
  if (python.as_bytes(label, &text, &length) != 0) return nullptr;
  const stepscope_phase phase = Begin(text, static_cast<size_t>(length));
  return python.make_bytes(reinterpret_cast<const char*>(&phase), sizeof(phase));
}

// Takes bytes (an open phase), returns None.
template <void (*End)(const stepscope_phase*)>
STEPSCOPE_HOT Object* end(Object*, Object* open) {
  const Interpreter& python = Interpreter::get();
  char* text = nullptr;
  ssize_t length = 0;
  if (python.as_bytes(open, &text, &length) != 0) return nullptr;
  stepscope_phase phase{};
  if (length == sizeof(phase)) {
    std::memcpy(&phase, text, sizeof(phase));
    End(&phase);
  }
  python.hold(python.none);
  return python.none;
}

// For phases without a name.
template <stepscope_phase (*Begin)()>
stepscope_phase unnamed(const char*, size_t) {
  return Begin();
}
void end_input(const stepscope_phase* phase) { stepscope_end_input(phase, 0); }
void end_of_input(const stepscope_phase* phase) { stepscope_end_input(phase, 1); }

// Takes an int, returns None.
template <void (*Tell)(std::int64_t)>
STEPSCOPE_HOT Object* tell(Object*, Object* number) {
  const Interpreter& python = Interpreter::get();
  const long value = python.as_long(number);
  if (value < 0) return nullptr;
  Tell(value);
  python.hold(python.none);
  return python.none;
}

Object* none_of(const Interpreter& python) {
  python.hold(python.none);
  return python.none;
}

// Takes a callable, a tuple and a dict. Returns or raises what the call does. The call is a phase:
// one function here costs a loop less than one that begins the phase and one that ends it.
template <stepscope_phase (*Begin)(), void (*End)(const stepscope_phase*)>
STEPSCOPE_HOT Object* call_in_phase(Object*, Object* const* arguments, ssize_t count) {
  const Interpreter& python = Interpreter::get();
  if (count != 3) return none_of(python);
  const stepscope_phase phase = Begin();
  Object* const result = python.call_with(arguments[0], arguments[1], arguments[2]);
  End(&phase);
  return result;
}

// Keeps `object` in place of what `kept` holds, if anything.
void keep_instead(const Interpreter& python, Object*& kept, Object* object) {
  Object* const before = kept;
  python.hold(object);
  kept = object;
  if (before != nullptr) python.release(before);
}

// `name`: a str.
void begin_step_as(const Interpreter& python, Object* optimizer, Object* name) {
  ssize_t length = 0;
  const char* text = python.as_utf8(name, &length);
  if (text == nullptr) python.clear_error();  // it holds half of a surrogate pair
  const auto size = static_cast<size_t>(text == nullptr ? 0 : length);
  stepscope_begin_optimizer_step(optimizer, text, size);
}

// Takes an optimizer and its name (a str), returns None.
STEPSCOPE_HOT Object* begin_optimizer_step(Object*, Object* const* arguments, ssize_t count) {
  const Interpreter& python = Interpreter::get();
  if (count == 2) begin_step_as(python, arguments[0], arguments[1]);
  return none_of(python);
}

// The callable passed to on_closure(); null: none. Guarded by the interpreter's lock.
Object* closure_marker = nullptr;

// Takes a callable, returns None. Replaces an earlier one.
Object* on_closure(Object*, Object* callable) {
  const Interpreter& python = Interpreter::get();
  keep_instead(python, closure_marker, callable);
  return none_of(python);
}

// PyTorch's hook before an optimizer's step: takes the optimizer, the step's arguments with the
// optimizer (a tuple), and those by name (a dict). Begins the step, under the name of the
// optimizer's class. Returns None, or, if there may be a closure, what on_closure()'s callable
// returns for the same arguments.
STEPSCOPE_HOT Object* before_optimizer_step(Object*, Object* const* arguments, ssize_t count) {
  const Interpreter& python = Interpreter::get();
  if (count != 3) return none_of(python);
  static Object* const kName = python.make_interned("__name__");
  Object* const type = python.type_of(arguments[0]);
  const bool known = type != nullptr && kName != nullptr;
  Object* const name = known ? python.attribute(type, kName) : nullptr;
  if (name == nullptr) python.clear_error();
  if (name != nullptr) begin_step_as(python, arguments[0], name);
  if (name != nullptr) python.release(name);
  if (type != nullptr) python.release(type);
  const ssize_t in_order = python.size(arguments[1]), by_name = python.size(arguments[2]);
  if (in_order < 0 || by_name < 0) python.clear_error();
  if (closure_marker == nullptr || (in_order <= 1 && by_name <= 0)) return none_of(python);
  return python.call(closure_marker, arguments[0], arguments[1], arguments[2], nullptr);
}

// PyTorch's hook after it: takes the same, returns None.
STEPSCOPE_HOT Object* after_optimizer_step(Object*, Object* const* arguments, ssize_t count) {
  if (count == 3) stepscope_end_optimizer_step(arguments[0]);
  return none_of(Interpreter::get());
}

// Takes an optimizer, returns None.
STEPSCOPE_HOT Object* end_optimizer_step(Object*, Object* optimizer) {
  stepscope_end_optimizer_step(optimizer);
  return none_of(Interpreter::get());
}

// Takes bytes (the label of a module), returns an int (the depth of its call); None: not recorded
// now.
STEPSCOPE_HOT Object* begin_module(Object*, Object* label) {
  const Interpreter& python = Interpreter::get();
  char* text = nullptr;
  ssize_t length = 0;
  if (python.as_bytes(label, &text, &length) != 0) return nullptr;
  const int depth = stepscope_begin_module(text, static_cast<size_t>(length));
  return depth < 0 ? none_of(python) : python.make_long(depth);
}

// Takes the int that begin_module() returned.
STEPSCOPE_HOT Object* end_module(Object*, Object* depth) {
  const Interpreter& python = Interpreter::get();
  const long value = python.as_long(depth);
  if (value < 0) return nullptr;
  stepscope_end_module(static_cast<int>(value));
  return none_of(python);
}

// The callable passed to watch_ops(); null: none. Guarded by the interpreter's lock.
Object* watcher = nullptr;

// Runs on the main thread, between two Python instructions.
int tell_watcher(void*) {
  const Interpreter& python = Interpreter::get();
  if (watcher == nullptr) return 0;
  Object* const records = python.make_long(stepscope_records_modules());
  if (records == nullptr) {
    python.clear_error();
    return 0;
  }
  Object* const result = python.call(watcher, records, nullptr);
  if (result == nullptr) python.clear_error();
  if (result != nullptr) python.release(result);
  python.release(records);
  return 0;
}

// Called when ops are switched on or off, on any thread, with or without the interpreter's lock.
void ops_changed() { Interpreter::get().call_later(&tell_watcher, nullptr); }

// Takes a callable, returns None. The callable is called on the main thread: with 1 when the
// recording of ops has begun (at once if it already has), with 0 when it has ended. It must not
// raise. Replaces an earlier one.
Object* watch_ops(Object*, Object* callable) {
  const Interpreter& python = Interpreter::get();
  keep_instead(python, watcher, callable);
  stepscope_on_ops_change(&ops_changed);
  if (stepscope_records_modules() != 0) tell_watcher(nullptr);
  return none_of(python);
}

// Static, because CPython keeps pointers to these as long as the functions exist.
std::array<Method, 21> methods = {{
    {"begin_scope", begin<stepscope_begin_scope>, kOneArgument, nullptr},
    {"end_scope", end<stepscope_end_scope>, kOneArgument, nullptr},
    {"begin_input", begin<stepscope_begin_input>, kOneArgument, nullptr},
    {"end_input", end<end_input>, kOneArgument, nullptr},
    {"end_of_input", end<end_of_input>, kOneArgument, nullptr},
    {"begin_optimizer", begin<stepscope_begin_optimizer>, kOneArgument, nullptr},
    {"end_optimizer", end<stepscope_end_optimizer>, kOneArgument, nullptr},
    {"begin_optimizer_step", with_count(begin_optimizer_step), kArguments, nullptr},
    {"end_optimizer_step", end_optimizer_step, kOneArgument, nullptr},
    {"before_optimizer_step", with_count(before_optimizer_step), kArguments, nullptr},
    {"after_optimizer_step", with_count(after_optimizer_step), kArguments, nullptr},
    {"on_closure", on_closure, kOneArgument, nullptr},
    {"begin_backward", begin<unnamed<stepscope_begin_backward>>, kOneArgument, nullptr},
    {"end_backward", end<stepscope_end_backward>, kOneArgument, nullptr},
    {"begin_closure", begin<unnamed<stepscope_begin_closure>>, kOneArgument, nullptr},
    {"end_closure", end<stepscope_end_closure>, kOneArgument, nullptr},
    {"in_zero_grad", with_count(call_in_phase<stepscope_begin_zero_grad, stepscope_end_zero_grad>),
     kArguments, nullptr},
    {"batch_comes_from", tell<stepscope_batch_comes_from>, kOneArgument, nullptr},
    {"begin_module", begin_module, kOneArgument, nullptr},
    {"end_module", end_module, kOneArgument, nullptr},
    {"watch_ops", watch_ops, kOneArgument, nullptr},
}};

}  // namespace

void* stepscope_python_function(const char* name) {
  if (!Interpreter::get().is_there()) return nullptr;
  for (Method& method : methods) {
    if (std::string_view(method.name) == name)
      return Interpreter::get().make_function(&method, nullptr, nullptr);
  }
  return nullptr;
}
