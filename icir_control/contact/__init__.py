"""Contact: Gauss's principle as a quadratic program, impacts, friction, joint limits."""

from icir_control.contact.simulator import Contact as Contact
from icir_control.contact.simulator import ContactSimulation as ContactSimulation
from icir_control.contact.simulator import ContactSimulator as ContactSimulator
from icir_control.contact.simulator import impact as impact
from icir_control.contact.simulator import project_velocity as project_velocity
