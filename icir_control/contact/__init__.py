"""Contact: Gauss's principle as a quadratic program, impacts, friction, joint limits."""

from icir_control.contact.impact import impact as impact
from icir_control.contact.impact import project_velocity as project_velocity
from icir_control.contact.simulator import Contact as Contact
from icir_control.contact.simulator import ContactSimulation as ContactSimulation
from icir_control.contact.simulator import ContactSimulator as ContactSimulator
