"""Tasks take turns, and the best of each counts."""

from somamba.evaluation.cost.timing import alternate


def test_tasks_run_in_turn_after_one_round_to_warm_up():
    order = []
    best = alternate({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2)
    assert order == ["a", "b"] * 3
    assert set(best) == {"a", "b"}
    assert all(0 <= seconds < 60 for seconds in best.values())


def test_without_warming_up_only_the_rounds_run():
    order = []
    alternate({"a": lambda: order.append("a")}, 1, warm=False)
    assert order == ["a"]
