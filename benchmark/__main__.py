"""Every benchmark, one after another: `python -m benchmark`."""

from benchmark import control, dynamics, loop

dynamics.main([])
control.main([])
loop.main()
