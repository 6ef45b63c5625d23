"""An encoder with random weights under the Hugging Face Trainer."""

import argparse
import tempfile

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 16 * 24

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return {
            "input_ids": torch.randint(0, 1000, (64,), generator=generator),
            "attention_mask": torch.ones(64, dtype=torch.long),
            "labels": index % 2,
        }


def main(device):
    config = BertConfig(
        vocab_size=1000,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
    )
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            folder,
            per_device_train_batch_size=16,
            num_train_epochs=1,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            logging_strategy="no",
            use_cpu=device == "cpu",
        )
        trainer = Trainer(BertForSequenceClassification(config), options, train_dataset=Sentences())
        trainer.remove_callback(PrinterCallback)  # of how long it took: never the same twice
        trainer.train()
    print("trained")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    main(parser.parse_args().device)
