"""As much of torch.nn.Module as has a mode."""


class Module:
    def __init__(self, *children):
        self.training = True
        self.children = children

    def train(self, mode=True):
        self.training = mode
        for child in self.children:
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)
