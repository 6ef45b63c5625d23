"""Which job and node a store is of, by what each scheduler sets."""

import pathlib
import sys
import types

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "fleet"))

from stepscope_fleet.identity import job_of, node_of, world_size_of


def store_of(environment, host):
    return types.SimpleNamespace(
        meta={"host": host},
        environment=lambda: environment,
        loops=[types.SimpleNamespace(rank=8)],
    )


@pytest.mark.parametrize(
    ("environment", "job", "node", "world"),
    [
        ({"SLURM_JOB_ID": "77", "SLURM_NODEID": "3", "SLURM_NTASKS": "64"}, "77", "0003", 64),
        (
            {"TORCHELASTIC_RUN_ID": "job7", "GROUP_RANK": "1", "WORLD_SIZE": "16"},
            "job7",
            "0001",
            16,
        ),
        ({"TORCHELASTIC_RUN_ID": "none", "GROUP_RANK": "1"}, None, "0001", None),
        ({"RAY_JOB_ID": "02000000", "NODE_RANK": "2"}, "02000000", "0002", None),
        ({"JOB_COMPLETION_INDEX": "5"}, "train", "0005", None),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, None, "train-5-0008", 4),
        ({}, None, "train-5-0008", None),
    ],
)
def test_what_schedulers_set(environment, job, node, world):
    store = store_of(environment, "train-5")
    assert (job_of(store), node_of(store), world_size_of(store)) == (job, node, world)
