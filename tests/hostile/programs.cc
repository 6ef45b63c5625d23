// Programs that do what makes trouble for whoever watches from inside: they fork, exec, thread,
// load libraries and die. They note scopes by the C interface alone, so no libtorch is needed.
//
//   hostile PROGRAM [ARGUMENT…]; see main()
//
// Each prints what it did; that is the same with and without `stepscope run`.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stepscope/stepscope.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Arguments = std::vector<std::string>;

int number(const Arguments& arguments, std::size_t index, int otherwise) {
  return index < arguments.size() ? std::atoi(arguments[index].c_str()) : otherwise;
}

void note(const std::string& name, int times = 1) {
  for (int i = 0; i < times; ++i) stepscope::Scope scope(name);
}

// At a pace that the recorder can follow on a machine with much else to do.
void note_until(const std::atomic<bool>& stop) {
  while (!stop) {
    note("busy", 16);
    usleep(100);
  }
}

int say(int code, const char* what) {
  std::printf("%s\n", what);
  std::fflush(stdout);
  return code;
}

// note N [NAME]: N scopes, in steps of ten.
int notes(const Arguments& arguments) {
  const std::string name = arguments.size() > 1 ? arguments[1] : "work";
  for (int i = 0; i < number(arguments, 0, 100); ++i) {
    note(name);
    if (i % 10 == 9) stepscope::step();
  }
  return say(0, "noted");
}

// threads N ALIVE: N threads, ALIVE of them at a time, four scopes each.
int threads(const Arguments& arguments) {
  const int count = number(arguments, 0, 500);
  const int alive = number(arguments, 1, 25);
  for (int begun = 0; begun < count; begun += alive) {
    std::vector<std::thread> group;
    pthread_barrier_t all_have_noted;
    pthread_barrier_init(&all_have_noted, nullptr, static_cast<unsigned>(alive));
    for (int i = 0; i < alive; ++i) {
      group.emplace_back([&] {
        note("short", 4);
        pthread_barrier_wait(&all_have_noted);
      });
    }
    for (auto& thread : group) thread.join();
    pthread_barrier_destroy(&all_have_noted);
  }
  return say(0, "all joined");
}

struct NotesWhenDestroyed {
  const char* name;
  ~NotesWhenDestroyed() { note(name); }
};

// Made before the thread's first scope, so destroyed after what we made for it.
void use_thread_local(const char* name) {
  thread_local NotesWhenDestroyed at_thread_end{name};
  note(at_thread_end.name);
}

void note_in_key_destructor(void* name) { note(static_cast<const char*>(name)); }

// destructors: scopes in thread-local, thread-key and static destructors and in an exit handler.
int destructors(const Arguments&) {
  static const NotesWhenDestroyed static_object{"static"};
  static char key_name[] = "key";
  pthread_key_t key;
  pthread_key_create(&key, note_in_key_destructor);
  for (int i = 0; i < 20; ++i) {
    std::thread([key] {
      pthread_setspecific(key, key_name);
      use_thread_local("thread_local");
    }).join();
  }
  std::atexit([] { note("atexit"); });
  use_thread_local("main thread_local");
  return say(0, static_object.name);
}

// fork THREADS: twenty children, each with scopes of its own, while THREADS threads note on.
int forks(const Arguments& arguments) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < number(arguments, 0, 0); ++i) {
    busy.emplace_back([&stop] { note_until(stop); });
  }
  note("parent", 10);
  int ended_well = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      note("child", 5);
      if (i % 2 == 0) _exit(3);
      std::exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ended_well += WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 1 : 0;
  }
  note("parent", 10);
  stop = true;
  for (auto& thread : busy) thread.join();
  return say(ended_well == 20 ? 0 : 1, "children have ended");
}

// exec PROGRAM ARGUMENT…: ten scopes, then another program in this process.
int executes(const Arguments& arguments) {
  note("before exec", 10);
  std::vector<char*> words;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  return 1;
}

// libraries FIRST SECOND: loads and unloads both, again and again; each names a scope from memory
// of its own, which is gone afterwards and holds the other's text the next time.
int libraries(const Arguments& arguments) {
  std::atomic<bool> stop{false};
  std::thread busy([&stop] { note_until(stop); });
  for (int i = 0; i < 200; ++i) {
    void* library = dlopen(arguments.at(static_cast<std::size_t>(i % 2)).c_str(), RTLD_NOW);
    if (library == nullptr) return say(1, dlerror());
    note(reinterpret_cast<const char* (*)()>(dlsym(library, "name_of_scope"))());
    dlclose(library);
  }
  stop = true;
  busy.join();
  return say(0, "loaded and unloaded");
}

// own-library PATH: loads libstepscope itself, records in a thread, unloads it; the thread ends
// later.
int own_library(const Arguments& arguments) {
  void* library = dlopen(arguments.at(0).c_str(), RTLD_NOW);
  if (library == nullptr) return say(1, dlerror());
  std::atomic<bool> unloaded{false};
  std::atomic<bool> noted{false};
  std::thread late([&] {
    note("late");
    noted = true;
    while (!unloaded) usleep(1000);
  });
  while (!noted) usleep(1000);
  dlclose(library);
  unloaded = true;
  late.join();
  return say(0, "unloaded");
}

// What has been written, as the program counts it itself; survives its death.
struct Written {
  std::atomic<std::int64_t> pid;
  std::atomic<std::int64_t> scopes[4];  // of each thread
};

// A name for each thousand, so that a hole in the middle shows.
void write_for_ever(std::atomic<std::int64_t>& written, int index) {
  constexpr std::int64_t kBlock = 1000;
  std::string name;
  for (std::int64_t i = 0;; ++i) {
    if (i % kBlock == 0) {
      name = "thread " + std::to_string(index) + " block " + std::to_string(i / kBlock);
    }
    note(name);
    if (index == 0 && i % 10 == 9) stepscope::step();
    written.store(i + 1);         // with all that belongs to it
    if (i % 16 == 0) usleep(50);  // so that the rings hold it: a full one drops and counts
  }
}

// until-killed FILE [STORE]: four threads; FILE keeps what each has written. With a STORE the
// program records itself.
int until_killed(const Arguments& arguments) {
  const int file = open(arguments.at(0).c_str(), O_RDWR);
  void* memory = mmap(nullptr, sizeof(Written), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return say(1, "no file for what was written");
  auto* written = static_cast<Written*>(memory);
  written->pid = getpid();
  std::optional<stepscope::Recording> recording;
  if (arguments.size() > 1) recording.emplace(stepscope::Options{.output = arguments[1]});
  if (recording && !recording->ok()) return 1;
  for (int i = 1; i < 4; ++i) {
    std::thread([written, i] { write_for_ever(written->scopes[i], i); }).detach();
  }
  write_for_ever(written->scopes[0], 0);
  return 0;
}

// steps N MICROSECONDS: a loop that takes its time and has a result.
int steps(const Arguments& arguments) {
  std::uint64_t result = 1;
  for (int i = 0; i < number(arguments, 0, 1000); ++i) {
    stepscope::Scope scope("work");
    result = result * 6364136223846793005U + 1442695040888963407U;
    usleep(static_cast<useconds_t>(number(arguments, 1, 1000)));
    stepscope::step();
  }
  std::printf("result %llu\n", static_cast<unsigned long long>(result));
  return 17;
}

// noting-threads THREADS SCOPES [STORE]: threads that note as many scopes each, with steps, at a
// pace that their rings hold. Records itself when STORE is named.
int noting_threads(const Arguments& arguments) {
  std::optional<stepscope::Recording> recording;
  if (arguments.size() > 2) recording.emplace(stepscope::Options{.output = arguments[2]});
  std::vector<std::thread> threads;
  for (int i = 0; i < number(arguments, 0, 3); ++i) {
    threads.emplace_back([&arguments, i] {
      for (int scope = 0; scope < number(arguments, 1, 200); ++scope) {
        note("thread " + std::to_string(i));
        if (i == 0 && scope % 10 == 9) stepscope::step();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  if (recording) recording->stop();
  return say(21, "all have noted");
}

// The signals that came, and what was noted; survives the program's death.
struct Signalled {
  std::atomic<std::int64_t> pid;
  std::atomic<std::int64_t> stop;  // set from outside
  std::atomic<std::int64_t> scopes;
  std::atomic<std::int64_t> count[65];  // by the number of the signal
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
Signalled* signalled;

// signals FILE: counts in FILE each signal that comes, until FILE says stop.
int signals(const Arguments& arguments) {
  const int file = open(arguments.at(0).c_str(), O_RDWR);
  void* memory = mmap(nullptr, sizeof(Signalled), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return say(1, "no file to count in");
  signalled = static_cast<Signalled*>(memory);
  for (int signal = 1; signal <= SIGRTMAX; ++signal)
    std::signal(signal, [](int number) { ++signalled->count[number]; });
  signalled->pid = getpid();
  while (signalled->stop == 0) {
    note("work");
    ++signalled->scopes;
    usleep(1000);
  }
  return 17;
}

const int kNotWritable = 0;  // in a page that is read-only

// dies HOW: seven steps, then in the middle of the eighth.
int dies(const Arguments& arguments) {
  for (int i = 0; i < 7; ++i) {
    note("work");
    stepscope::step();
  }
  note("last", 3);
  say(0, "about to die");
  const std::string how = arguments.at(0);
  if (how == "segv") *const_cast<volatile int*>(&kNotWritable) = 1;
  if (how == "abort") std::abort();
  if (how == "_exit") _exit(9);
  if (how == "throw") throw std::runtime_error("nobody catches this");
  // memory: until there is none
  std::vector<std::vector<char>> held;
  while (true) held.emplace_back(std::size_t{16} << 20, 'x');
}

// descriptors: which are open.
int descriptors(const Arguments&) {
  note("before");
  std::string open_ones;
  for (int fd = 0; fd < 256; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) open_ones += " " + std::to_string(fd);
  }
  return say(0, open_ones.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)(const Arguments&)> programs{
      {"note", notes},
      {"threads", threads},
      {"fork", forks},
      {"destructors", destructors},
      {"exec", executes},
      {"libraries", libraries},
      {"steps", steps},
      {"signals", signals},
      {"until-killed", until_killed},
      {"dies", dies},
      {"noting-threads", noting_threads},
      {"own-library", own_library},
      {"descriptors", descriptors}};
  const auto program = programs.find(argc > 1 ? argv[1] : "");
  if (program == programs.end())
    return say(2, "usage: hostile PROGRAM [ARGUMENT]…; see its source");
  return program->second({argv + 2, argv + argc});
}
