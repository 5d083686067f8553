"""Plans: what a shape rule decides reaches the kernels that ask for it, and no others."""

from __future__ import annotations

from typing import Any

from gradiva.eager.operators.operator import kernel_of_call


class Planned:
    plan = "the plan"


class Role:
    def run(self, call: Any) -> Any:
        return self, call

    def run_planned(self, call: Any, plan: Any) -> Any:
        return call, plan


def test_a_kernel_with_a_second_argument_receives_the_plan() -> None:
    """A method too, whose object is none of its arguments."""
    call, role = Planned(), Role()
    assert kernel_of_call(lambda call, plan: (call, plan), 1)(call) == (call, "the plan")
    assert kernel_of_call(role.run_planned, 1)(call) == (call, "the plan")
    assert kernel_of_call(lambda call, gpu, plan: (gpu, plan), 2)(call, 7) == (7, "the plan")


def test_other_kernels_do_not() -> None:
    """Neither methods, nor functions with a default in place of a second argument."""
    call, role = Planned(), Role()
    assert kernel_of_call(role.run, 1)(call) == (role, call)
    assert kernel_of_call(lambda call, name="sqrt": (call, name), 1)(call) == (call, "sqrt")
    assert kernel_of_call(lambda call: call, 1)(call) is call
