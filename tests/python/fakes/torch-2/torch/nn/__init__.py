from . import modules
