// Says which mutex guards what, for clang to check at compile time (-Wthread-safety); nothing for
// other compilers. https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
//
// They work with Mutex and MutexLock (store/mutex.h), not with those of the standard library.
#pragma once

#if defined(__clang__)
#define STEPSCOPE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define STEPSCOPE_THREAD_ANNOTATION(x)
#endif

// For a field that is read and written only with the mutex held. PT_: for what it points to.
#define STEPSCOPE_GUARDED_BY(mutex) STEPSCOPE_THREAD_ANNOTATION(guarded_by(mutex))
#define STEPSCOPE_PT_GUARDED_BY(mutex) STEPSCOPE_THREAD_ANNOTATION(pt_guarded_by(mutex))

// For a function that must be called with these mutexes held, or with none of them held.
#define STEPSCOPE_REQUIRES(...) STEPSCOPE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define STEPSCOPE_EXCLUDES(...) STEPSCOPE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// For a function that locks or unlocks these mutexes; without arguments, its own object.
#define STEPSCOPE_ACQUIRE(...) STEPSCOPE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define STEPSCOPE_RELEASE(...) STEPSCOPE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

// For a mutex that is locked after this one.
#define STEPSCOPE_ACQUIRED_AFTER(...) STEPSCOPE_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))

// For a type: a mutex, and a lock that holds one as long as it is in scope.
#define STEPSCOPE_CAPABILITY(name) STEPSCOPE_THREAD_ANNOTATION(capability(name))
#define STEPSCOPE_SCOPED_CAPABILITY STEPSCOPE_THREAD_ANNOTATION(scoped_lockable)

// For a function that breaks the rules on purpose; say why next to it.
#define STEPSCOPE_NO_THREAD_SAFETY_ANALYSIS STEPSCOPE_THREAD_ANNOTATION(no_thread_safety_analysis)
