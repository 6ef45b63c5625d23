class GradScaler:
    def step(self, optimizer, *arguments, skips=False):
        return None if skips else optimizer.step(*arguments)
