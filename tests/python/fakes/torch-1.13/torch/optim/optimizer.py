import functools


class Optimizer:
    def __init__(self):
        self._hook_for_profile()

    def _hook_for_profile(self):
        def profile_hook_step(function):
            @functools.wraps(function)
            def wrapper(*arguments, **named):
                return function(*arguments, **named)

            return wrapper

        if not getattr(self.__class__.step, "hooked", None):
            self.__class__.step = profile_hook_step(self.__class__.step)
            self.__class__.step.hooked = True

    def zero_grad(self):
        return "cleared"


class SGD(Optimizer):
    def step(self, closure=None):
        return None if closure is None else closure()
