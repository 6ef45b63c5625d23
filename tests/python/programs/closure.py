"""LBFGS: the optimizer calls a closure that does forward and backward, several times a step."""

import own
import small
import torch


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = small.model(width=256)
    optimizer = torch.optim.LBFGS(network.parameters(), lr=0.1, max_iter=4, history_size=3)
    features, labels = zip(*(small.Samples(1)[i] for i in range(small.BATCH)))
    features, labels = torch.stack(features), torch.stack(labels)

    def closure():
        optimizer.zero_grad()
        loss = small.loss_of(network(features), labels)
        loss.backward()
        return loss

    for _ in range(given.steps):
        loss = stopwatch.update(optimizer.step, closure)
    print(f"loss {loss.item():.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, steps=60))
