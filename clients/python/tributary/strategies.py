"""What strategies require of a device besides training: proximal terms and control variates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .weights import Weights


def proximal_gradient(weights: Mapping[str, Any], center: Mapping[str, Any], mu: float) -> Weights:
    """mu (w - w_global), which FedProx adds to the gradient (Li et al. 2020, equation 2). For Ditto: lambda and v."""
    return {name: mu * (np.asarray(weights[name]) - np.asarray(center[name])) for name in center}


def proximal_loss(parameters: Iterable[tuple[str, Any]], center: Mapping[str, Any], mu: float) -> Any:
    """mu/2 |w - w_global|^2 for the loss of a PyTorch model; `parameters` is its `named_parameters()`."""
    import torch

    terms = [(value - torch.as_tensor(center[name], device=value.device)).square().sum() for name, value in parameters]
    return mu / 2 * torch.stack(terms).sum()


def correction_of(model: Weights, control: Weights | None, own: Weights | None) -> Weights:
    """c - c_i, to add to every gradient (Karimireddy et al. 2020, algorithm 1, line 10). None is zero."""
    zero = {name: np.zeros(array.shape) for name, array in model.items()}
    return {name: (control or zero)[name] - (own or zero)[name] for name in model}


def control_change(
    before: Weights, after: Weights, control: Weights | None, steps: float, learning_rate: float
) -> Weights:
    """c_i+ - c_i = (x - y) / (K lr) - c by option II (Karimireddy et al. 2020, algorithm 1, line 12).

    x is the model before training, y the model after it, K the number of steps, and lr the learning rate. Integers have
    no control variate: theirs is 0.
    """
    length = steps * learning_rate
    change: Weights = {}
    for name, start in before.items():
        if not np.issubdtype(start.dtype, np.floating):
            change[name] = np.zeros_like(start)
            continue
        step = (start.astype(np.float64) - after[name].astype(np.float64)) / length
        change[name] = step if control is None else step - control[name]
    return change
