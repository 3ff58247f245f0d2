"""The node `controller`: states in, torques out."""
