from . import amp
