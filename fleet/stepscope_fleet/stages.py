"""Ranks compared with the others of their pipeline stage, because stages do different work."""

from collections.abc import Iterable

from .slow_ranks import Categories, merge_parts, slow_ones

ALL = 0.75  # a stage is slow as a whole if at least this share of its ranks is slow


class Stages:
    """`groups`: rows of rank_groups.sql; `costs`: those of stage_cost.sql for parts of the steps; `categories`: those of
    rank_category.sql."""

    def __init__(self, groups: list[dict], costs: Iterable[list[dict]], categories: list[dict]):
        self._stage = {row["rank"]: row["pp_rank"] for row in groups if row["pp_rank"] is not None}
        self._members: dict[int, list[dict]] = {}
        for row in merge_parts(costs) if self._stage else []:
            self._members.setdefault(self._stage[row["rank"]], []).append(row)
        self._slow = {
            row["rank"]: row for members in self._members.values() for row in slow_ones(members)
        }
        self._categories = {
            stage: Categories(row for row in categories if self._stage.get(row["rank"]) == stage)
            for stage in self._members
        }

    def about(self, rank: int, slow_ranks: set[int]) -> dict | None:
        """What is known of a slow rank within its stage. None: its stage is not known."""
        stage = self._stage.get(rank)
        members = [row["rank"] for row in self._members.get(stage, [])]
        if not members:
            return None
        slow = self._slow.get(rank)
        return {
            "stage": stage,
            "excess_ns": round(slow["excess_ns"]) if slow else None,  # None: not slow within it
            "whole_stage": len(slow_ranks & set(members)) >= ALL * len(members)
            and len(self._members) > 1,
        }

    def slow_within(self, slow_ranks: set[int]) -> list[dict]:
        """Ranks that are slow within their stage, but not compared with all ranks; the slowest first."""
        found = [row for rank, row in self._slow.items() if rank not in slow_ranks]
        return [
            {
                "rank": row["rank"],
                "host": row["host"],
                "stage": self._stage[row["rank"]],
                "category": self._categories[self._stage[row["rank"]]].cause(row),
                "excess_ns": round(row["excess_ns"]),
                "step_share": row["excess_ns"] / row["step_ns"],
                "query": "stage_cost.sql",
            }
            for row in sorted(found, key=lambda row: -row["excess_ns"])
        ]
