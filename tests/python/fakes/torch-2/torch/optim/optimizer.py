import functools

_pre_hooks, _post_hooks = {}, {}


class _Handle:
    def __init__(self, hooks, hook):
        self._hooks = hooks
        hooks[id(self)] = hook

    def remove(self):
        del self._hooks[id(self)]


def register_optimizer_step_pre_hook(hook):
    return _Handle(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    return _Handle(_post_hooks, hook)


def _hooked(step):
    @functools.wraps(step)
    def wrapper(*arguments, **named):
        self = arguments[0]
        for hook in _pre_hooks.values():
            result = hook(self, arguments, named)
            if result is not None:
                arguments, named = result
        result = step(*arguments, **named)
        for hook in _post_hooks.values():
            hook(self, arguments, named)
        return result

    wrapper.hooked = True
    return wrapper


class Optimizer:
    def __init__(self):
        if not getattr(self.__class__.step, "hooked", None):
            self.__class__.step = _hooked(self.__class__.step)

    def zero_grad(self):
        return "cleared"


class SGD(Optimizer):
    def step(self, closure=None):
        return None if closure is None else closure()
