"""A tiny BERT with the Hugging Face Trainer, whose collate function cleans and tokenizes the texts
of a batch.

    stepscope run -o run.db -- python3 trainer.py

The slow line is a regular expression that cleans a text.
"""

import re
import tempfile
import warnings

import planted
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    logging,
)

warnings.filterwarnings("ignore")
logging.set_verbosity_error()

WORDS = "the a of to and in that it was for on with as his they at be this from have".split()
BATCH, LENGTH = 8, 160
MARKUP = re.compile(r"(\s|&[a-z]+;|<[^<>]*>)+?(?=\S)")


class Reviews(Dataset):
    def __init__(self, steps):
        generator = torch.Generator().manual_seed(0)
        choice = torch.randint(0, len(WORDS), (64, LENGTH), generator=generator)
        self.texts = [" <br> ".join(WORDS[i] for i in row) for row in choice.tolist()]
        self.count = steps * BATCH

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"text": self.texts[index % len(self.texts)], "label": index % 2}


def make_tokenizer():
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[UNK]", "[PAD]"]
    tokenizer.train_from_iterator(
        [" ".join(WORDS)], trainers.WordLevelTrainer(special_tokens=special)
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]")


class Collate:
    def __init__(self, passes):
        self.tokenizer = make_tokenizer()
        self.passes = passes

    def clean(self, text):
        for _ in range(self.passes):
            cleaned = MARKUP.sub(" ", text)  # the slow line
        return cleaned

    def __call__(self, rows):
        texts = [self.clean(row["text"]) for row in rows]
        batch = self.tokenizer(
            texts, max_length=32, truncation=True, padding=True, return_tensors="pt"
        )
        return {
            "input_ids": batch["input_ids"],
            "attention_mask": batch["attention_mask"],
            "labels": torch.tensor([row["label"] for row in rows]),
        }


class EachStep(TrainerCallback):
    def __init__(self, clock):
        self.clock = clock

    def on_step_end(self, *args, **kwargs):
        self.clock.step()


def main():
    given = planted.arguments(__doc__, steps=150)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = BertForSequenceClassification(
        BertConfig(
            vocab_size=64,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=128,
            max_position_embeddings=64,
        )  # fmt: skip
    )
    clock = planted.StepTimer()
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder, num_train_epochs=1, per_device_train_batch_size=BATCH, use_cpu=True,
            save_strategy="no", report_to=[], disable_tqdm=True, logging_strategy="no",
            remove_unused_columns=False,
        )  # fmt: skip
        Trainer(
            network,
            settings,
            train_dataset=Reviews(given.steps),
            data_collator=Collate(passes=5 if given.fixed else 10),
            callbacks=[EachStep(clock)],
        ).train()
    clock.report()


if __name__ == "__main__":
    main()
