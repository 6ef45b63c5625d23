"""Trains a tiny BERT with random weights with the Hugging Face Trainer on made-up sentences: two
batches per update, an evaluation and a checkpoint every 20 updates.

    stepscope run -o run.db -- python3 trainer_bert.py --timers timers.json
"""

import tempfile
import time

import timers
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

LENGTH, VOCABULARY, BATCH, ACCUMULATE = 32, 200, 8, 2


class Sentences(Dataset):
    """Tokenizing a sentence takes `sentence_ms`."""

    def __init__(self, sentences, sentence_ms, seed):
        self.tokens = torch.randint(
            0, VOCABULARY, (sentences, LENGTH), generator=torch.Generator().manual_seed(seed)
        )
        self.sentence_ms = sentence_ms

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        time.sleep(self.sentence_ms / 1e3)
        tokens = self.tokens[index]
        return {"input_ids": tokens, "labels": tokens[0] % 2}


def main(given):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    logging.set_verbosity_error()
    timed = timers.Timers(given.timers)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=128,
            max_position_embeddings=LENGTH,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    timed.watch(optimizer, trains=lambda: model.training)
    forward = model.forward

    def timed_forward(input_ids=None, attention_mask=None, labels=None, **named):
        def call():
            return forward(input_ids, attention_mask, labels=labels, **named)

        return timed.phase("forward", call) if model.training else call()

    model.forward = timed_forward
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=BATCH,
                per_device_eval_batch_size=BATCH,
                gradient_accumulation_steps=ACCUMULATE,
                max_steps=given.updates,
                eval_strategy="steps",
                eval_steps=20,
                save_steps=20,
                logging_steps=20,
                use_cpu=True,
                report_to=[],
                disable_tqdm=True,
                seed=0,
            ),
            train_dataset=Sentences(given.updates * ACCUMULATE * BATCH, given.sentence_ms, 1),
            eval_dataset=Sentences(4 * BATCH, given.sentence_ms, 2),
            optimizers=(optimizer, None),
        )
        trainer.remove_callback(PrinterCallback)  # it prints times
        trainer.evaluate = timed.segments("evaluation", trainer.evaluate)
        trainer._save_checkpoint = timed.segments("checkpoint", trainer._save_checkpoint)
        result = trainer.train()
    print(f"updates {result.global_step} loss {result.training_loss:.4f}")
    timed.save(batches_per_step=ACCUMULATE)


if __name__ == "__main__":
    main(timers.arguments(__doc__, updates=80, sentence_ms=0.5))
