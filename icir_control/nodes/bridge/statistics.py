"""What a loop counts, for the diagnostics."""

from dataclasses import dataclass


@dataclass
class Statistics:
    """Counters since the start, and sums since the last report.

    Attributes:
        missed: States whose answer did not come in time: repeated in lockstep, stepped with an
            older command when free-running.
        saturated: Commands beyond an effort limit.
        divergences: Times that the physics left the finite.
        age_max: Oldest command that was applied since the last report [steps].
        trips: Answers since the last report.
        trip_sum: Their delays from state to command, summed [s of wall time].
        trip_max: The longest of them [s of wall time].
    """

    missed: int = 0
    saturated: int = 0
    divergences: int = 0
    age_max: int = 0
    trips: int = 0
    trip_sum: float = 0.0
    trip_max: float = 0.0

    def note_trip(self, delay: float) -> None:
        """Count an answer.

        Args:
            delay: From the state's first publication to its answer [s of wall time].
        """
        self.trips += 1
        self.trip_sum += delay
        if delay > self.trip_max:
            self.trip_max = delay

    def start_report(self) -> None:
        """Begin a new reporting period."""
        self.age_max = 0
        self.trips = 0
        self.trip_sum = 0.0
        self.trip_max = 0.0
