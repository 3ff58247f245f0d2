"""The bridge's parameters, read once into one object that is valid as a whole."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from icir_control.dynamics import Model, root_link, tip_link
from icir_control.errors import ConfigurationError
from icir_control.nodes.bridge.figures import FIGURES, PLANT_FIGURES
from icir_control.nodes.parameters import Parameters
from icir_control.nodes.shipped import shipped_parameters
from icir_control.simulation import Plant


@dataclass(frozen=True)
class BridgeConfig:
    """What the bridge runs with.

    Attributes:
        base_frame: Root frame of the robot.
        end_effector_frame: The frame that is controlled.
        timestep: Control period [s].
        initial_configuration: (nq,) [rad or m].
        lockstep: Whether a step needs the command that answers the present state.
        real_time_factor: Simulated seconds per second of wall time, 0 as fast as possible.
        command_timeout: Silence after which the controller is missed [s].
        viewer: `none`, `window` or `auto`.
        external_wrench_hold: How long a wrench acts [s of simulation time].
        on_divergence: `hold` or `reset`.
        publish_clock: Whether to publish `/clock`.
        plant: How the plant departs from the model.
        joint_names: The moving joints of the model.
        limits: (2, nq) lower and upper position limits [rad or m].
    """

    base_frame: str
    end_effector_frame: str
    timestep: float
    initial_configuration: np.ndarray
    lockstep: bool
    real_time_factor: float
    command_timeout: float
    viewer: str
    external_wrench_hold: float
    on_divergence: str
    publish_clock: bool
    plant: Plant
    joint_names: tuple[str, ...] = field(repr=False)
    limits: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse what is valid alone but not together.

        Raises:
            ConfigurationError: Names the parameter, its value and what would be valid.
        """
        if not self.lockstep and self.real_time_factor == 0.0:
            raise ConfigurationError(
                'real_time_factor = 0.0 is not valid with lockstep = False, where simulation time'
                ' follows the wall clock; expected a number above 0'
            )
        for name, value, lower, upper in zip(
            self.joint_names, self.initial_configuration, *self.limits, strict=True
        ):
            if not lower <= value <= upper:
                low, value, high = np.rad2deg([lower, value, upper])
                raise ConfigurationError(
                    f'initial_configuration_deg = {value:g} at {name} is not valid; expected'
                    f' {low:g} to {high:g}'
                )

    @property
    def deviations(self) -> dict[str, Any]:
        """The plant's figures that differ from the model's, by name."""
        return dict(self.plant.differences)


def read_config(parameters: Parameters, model: Model) -> BridgeConfig:
    """Declare the bridge's parameters and return their values; those not given are as shipped.

    Args:
        parameters: The node's parameters; `model` is declared already.
        model: The model that `model` names.

    Raises:
        ConfigurationError: A value is not valid, or a parameter is unknown.
    """
    parameters.ship(shipped_parameters(model.name, 'mujoco_bridge'))
    for figure in FIGURES:
        parameters.declare(figure, nv=model.nv)
    for figure in PLANT_FIGURES:
        parameters.declare(figure, prefix='plant.', nv=model.nv)
    parameters.refuse_unknown()
    return config_from(parameters.values, model)


def config_from(values: dict[str, Any], model: Model) -> BridgeConfig:
    """Return the configuration that parameter values stand for.

    Args:
        values: Checked values by full parameter name.
        model: The model of the robot.

    Raises:
        ConfigurationError: Values that do not go together, or a frame that the model lacks.
        ModelError: A frame that was not named, of an arm with several ends.
    """
    ends = {
        'base_frame': values['base_frame'] or root_link(model),
        'end_effector_frame': values['end_effector_frame'] or tip_link(model),
    }
    for name, frame in ends.items():
        frames = [frame.name for frame in model.frames]
        if frame not in frames:
            raise ConfigurationError(
                f'{name} = {frame!r} is not a frame of {model.name}; valid: {", ".join(frames)}'
            )
    degrees = values['initial_configuration_deg']
    plain = {
        figure.name: values[figure.name]
        for figure in FIGURES
        if figure.name != 'initial_configuration_deg'
    }
    limits = np.array([model.lower_position_limit, model.upper_position_limit])
    return BridgeConfig(
        **plain | ends,
        initial_configuration=np.deg2rad(degrees)
        if len(degrees)
        else np.clip(np.zeros(model.nq), *limits),
        plant=Plant(**{figure.name: values[f'plant.{figure.name}'] for figure in PLANT_FIGURES}),
        joint_names=tuple(model.joint_names),
        limits=limits,
    )
