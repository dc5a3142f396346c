"""Mistakes in the gradients of a compiled unit: how its sums become the gradients of weights."""

from mutants.mistake import Mistake

UNIT = "native/test_training.py"

MISTAKES = (
    Mistake("time steps do not learn", "dt_bias=dt_bias,", "dt_bias=0 * dt_bias,", UNIT),
    Mistake(
        "the norms of B and C are exchanged", "B_norm=B_norm, C_norm=C_norm,", "B_norm=C_norm, C_norm=B_norm,", UNIT
    ),
    Mistake(
        "scale and shift are exchanged",
        "strengths=(scale.view(()), shift.view(()))",
        "strengths=(shift.view(()), scale.view(()))",
        UNIT,
    ),
    Mistake("the bias of the outlet does not learn", "outlet[9], refine)", "0 * outlet[9], refine)", UNIT),
    Mistake(
        "the bias of the content's norm does not learn",
        "content_norm=(content_weight, content_bias)",
        "content_norm=(content_weight, 0 * content_bias)",
        UNIT,
    ),
    Mistake(
        "the carrier passes no gradient on",
        "route_backward(dout, dcarrier, devidence, features, router)",
        "route_backward(dout, 0 * dcarrier, devidence, features, router)",
        UNIT,
    ),
    Mistake(
        "earlier layers learn nothing from a unit",
        "return dfeatures, None, None, *of_router",
        "return 0 * dfeatures, None, None, *of_router",
        UNIT,
    ),
)
