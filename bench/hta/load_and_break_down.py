"""HolisticTraceAnalysis's part in the comparison: loads one trace and breaks its time down."""

import sys

from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=".")
print(analysis.get_temporal_breakdown(visualize=False).to_string())
