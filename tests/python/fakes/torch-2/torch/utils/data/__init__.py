from . import dataloader
