"""The Hugging Face Trainer and a tiny BERT with random weights. It fetches one batch ahead."""

import tempfile

import own
import small
import torch
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)
from transformers.utils import logging

LENGTH, VOCABULARY, BATCH = 32, 200, 8


class Sentences(Dataset):
    def __init__(self, batches):
        self._tokens = torch.randint(
            0, VOCABULARY, (batches * BATCH, LENGTH), generator=torch.Generator().manual_seed(1)
        )

    def __len__(self):
        return len(self._tokens)

    def __getitem__(self, index):
        small.stall("sleep", 4.0 / BATCH)
        tokens = self._tokens[index]
        return {"input_ids": tokens, "labels": tokens[0] % 2}


def main(given):
    small.prepare()
    logging.set_verbosity_error()
    stopwatch = own.Stopwatch(given.own)
    stopwatch.watch_loaders()
    network = BertForSequenceClassification(
        BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=128,
            max_position_embeddings=LENGTH,
        )
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    stopwatch.watch(optimizer)
    stopwatch.watch_phases(optimizer, network=network)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=network,
            args=TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=BATCH,
                num_train_epochs=1,
                use_cpu=True,
                report_to=[],
                disable_tqdm=True,
                save_strategy="no",
                logging_strategy="no",
                seed=0,
                gradient_accumulation_steps=given.accumulate,
            ),
            train_dataset=Sentences(given.batches),
            optimizers=(optimizer, None),
        )
        trainer.remove_callback(PrinterCallback)  # it prints times
        result = trainer.train()
    print(f"steps {result.global_step} loss {result.training_loss:.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=80, accumulate=1))
