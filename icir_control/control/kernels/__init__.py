"""The compiled half of the controller: plain arrays and one record, in and out."""

from icir_control.control.kernels.tick import run

__all__ = ['run']
