"""A training step in every order that frameworks use: where the forward pass, zero_grad() and the backward pass are, and
whether the optimizer calls them as a closure. Each --order is a loop of its own.

    plain-first    zero_grad  forward  backward  step        most programs
    plain-middle   forward  zero_grad  backward  step
    plain-last     forward  backward  step  zero_grad        the Trainer, accelerate, fastai
    closure-first  step(zero_grad  forward  backward)        PyTorch's own documentation
    closure-middle step(forward  zero_grad  backward)        Lightning
    closure-last   step(forward  backward)  zero_grad
    lbfgs-…        the same with an optimizer that calls its closure several times
    gan-…          two networks that take turns, each with an optimizer
"""

import own
import small
import torch
from torch.utils.data import DataLoader

WIDTH, ROWS = 768, 8  # of small.BATCH samples


class Program:
    def __init__(self, stopwatch, order):
        self.stopwatch = stopwatch
        self.kind, self.clears = order.split("-")
        self.networks = [small.model(WIDTH) for _ in range(2 if self.kind == "gan" else 1)]
        self.optimizers = [self._optimizer(network.parameters()) for network in self.networks]

    def _optimizer(self, parameters):
        if self.kind == "lbfgs":
            return torch.optim.LBFGS(parameters, lr=0.05, max_iter=3, history_size=2)
        return torch.optim.Adam(parameters, lr=1e-3)

    def step(self, features, labels):
        for network, optimizer in zip(self.networks, self.optimizers):
            timed = self.stopwatch.phase

            def evaluate():
                if self.clears == "first":
                    timed("zero_grad", optimizer.zero_grad)
                loss = timed("forward", lambda: small.loss_of(network(features), labels))
                if self.clears == "middle":
                    timed("zero_grad", optimizer.zero_grad)
                timed("backward", loss.backward)
                return loss

            if self.kind in ("closure", "lbfgs"):
                if self.kind == "lbfgs" and self.clears == "last":
                    closure = self._clearing_by_hand(evaluate, network)
                else:
                    closure = evaluate
                loss = self.stopwatch.update(optimizer.step, closure)
            else:
                loss = evaluate()
                self.stopwatch.update(optimizer.step)
            if self.clears == "last":
                timed("zero_grad", optimizer.zero_grad)
        return loss

    @staticmethod
    def _clearing_by_hand(evaluate, network):
        """No zero_grad() of the optimizer's is seen."""

        def closure():
            for parameter in network.parameters():
                parameter.grad = None
            return evaluate()

        return closure


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    program = Program(stopwatch, given.order)
    samples = small.Samples(given.batches * ROWS, "sleep", 0.2)
    for batch in stopwatch.batches(DataLoader(samples, small.BATCH * ROWS)):
        loss = program.step(*batch)
    print(f"loss {loss.item():.5f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, order="plain-first", batches=70))
