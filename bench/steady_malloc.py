"""A malloc whose behaviour does not hang on what else allocates.

What glibc gives back to the system between steps, and takes anew, depends on what lies where in its heap, and it moves
from mmap to the heap for large blocks once a larger one was freed: a loop of large tensors may so be a quarter faster or
slower. With these settings it keeps what is freed, from the start. (32 MiB is the most that glibc takes for the second;
larger blocks are mapped each time.)
"""

STEADY_MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
