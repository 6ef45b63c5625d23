"""The generator's loop, with the optional marks in it."""

import own
import small
import stepscope
import torch
from generator import read


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = small.model()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    batches = stepscope.input(read(given.batches, given.kind, given.stall_ms), name="reader")
    for number, batch in enumerate(stopwatch.batches(batches), 1):
        loss = small.train_step(network, optimizer, batch, stopwatch)
        if number % 20 == 0:
            evaluation = stopwatch.segment("evaluation")
            with evaluation, stepscope.scope("evaluation"), torch.no_grad():
                for _ in range(5):
                    network(batch[0])
        stepscope.step()
    print(f"loss {loss:.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, kind="sleep", stall_ms=3.0, batches=100))
