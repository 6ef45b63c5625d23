"""Settings that make malloc's behaviour independent of other allocations.

How much memory glibc returns to the system between steps and requests again depends on the layout
of its heap. It also stops mapping large blocks separately once a larger block was freed. So a loop
of large tensors may be a quarter faster or slower. With these settings, glibc keeps freed memory
from the start. (32 MiB is the maximum for the second setting; larger blocks are mapped each time.)
"""

STEADY_MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
